import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { freshFolder } from '../../../testing/store-contract/stage.ts'
import { createChildLog } from '../transport/child-log.ts'
import { type TargetDeps, targetOf } from './target.ts'

async function stage(entry: Record<string, unknown>, secrets: string[] = [], more: { wrong?: string } = {}) {
  const clock = createFakeClock()
  const projectDir = await freshFolder()
  const log = createChildLog({ clock, secrets })
  const config = { ...UpstreamConfig.parse(entry), ...more }
  const issuer = { isAway: false }
  const auth = { isIssuerAway: () => issuer.isAway }
  // Nothing is opened here.
  const deps = { name: 's', config, projectDir, dataDir: join(projectDir, '.quartermaster'), clock, log, auth }
  return { projectDir, issuer, target: targetOf(deps as unknown as TargetDeps) }
}

describe('what can be seen of a program from outside', () => {
  it('changes when its script comes, is edited, or is replaced by another', async () => {
    const { target, projectDir } = await stage({ command: 'node', args: ['--flag', 'server.mjs'] })
    const script = join(projectDir, 'server.mjs')
    const seen = [await target.fingerprint()]
    await writeFile(script, '1')
    seen.push(await target.fingerprint())
    await writeFile(script, '1 + 1')
    seen.push(await target.fingerprint())
    await writeFile(`${script}.new`, '1 + 2')
    await rename(`${script}.new`, script)
    seen.push(await target.fingerprint())
    expect(new Set(seen).size).toBe(4)
  })
})
describe('what people are shown of a server', () => {
  it('is its program and arguments, or its address, without a secret', async () => {
    const program = await stage({ command: 'server', args: ['--key', 'hush-hush-hush'] }, ['hush-hush-hush'])
    expect(program.target).toMatchObject({ transport: 'stdio', text: 'server --key [secret]' })
    const far = await stage({ url: 'https://me:pass@mcp.example.com/mcp?key=hush' })
    expect(far.target).toMatchObject({ transport: 'http', text: 'https://mcp.example.com/mcp' })
  })
})
