import { chmod, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
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

/** A free port of this machine, and how to listen there. */
async function freePort() {
  const listen = (port: number) =>
    new Promise<{ port: number; close(): Promise<void> }>(resolve => {
      const server = createServer(socket => socket.destroy()).listen(port, '127.0.0.1', () => {
        const close = () => new Promise<void>(done => void server.close(() => done()))
        onTestFinished(() => void server.close())
        resolve({ port: (server.address() as { port: number }).port, close })
      })
    })
  const first = await listen(0)
  await first.close()
  return { port: first.port, listen: () => listen(first.port) }
}

describe('what can be seen of a program from outside', () => {
  it('stays the same while nothing changes', async () => {
    const { target } = await stage({ command: 'node', args: ['server.mjs'] })
    expect(await target.fingerprint()).toBe(await target.fingerprint())
  })

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

  it('changes when the program itself is installed, however many folders and arguments there are', async () => {
    const folder = await freshFolder()
    const { PATH } = process.env
    onTestFinished(() => {
      process.env.PATH = PATH
    })
    process.env.PATH = [folder, ...Array.from({ length: 100 }, (_, index) => `/nowhere/${index}`)].join(':')
    const args = ['server.mjs', ...Array.from({ length: 100 }, (_, index) => `--flag${index}`)]
    const { target, projectDir } = await stage({ command: 'late-program', args })
    const before = await target.fingerprint()
    await writeFile(join(folder, 'late-program'), '#!/bin/sh\n')
    await chmod(join(folder, 'late-program'), 0o755)
    const installed = await target.fingerprint()
    expect(installed).not.toBe(before)
    await writeFile(join(projectDir, 'server.mjs'), '')
    expect(await target.fingerprint()).not.toBe(installed)
  })
})

describe('what can be seen of what a program needs', () => {
  it.each([['--needs=data.json'], ['--needs'], ['-c=data.json']])('changes when it comes, given as %s', async flag => {
    const { target, projectDir } = await stage({
      command: 'node',
      args: [flag, 'data.json'].slice(0, flag.includes('=') ? 1 : 2),
    })
    const before = await target.fingerprint()
    await writeFile(join(projectDir, 'data.json'), '{}')
    expect(await target.fingerprint()).not.toBe(before)
  })
})

describe('what can be seen of an address from outside', () => {
  it('changes when somebody listens there', async () => {
    const { port, listen } = await freePort()
    const { target } = await stage({ url: `http://127.0.0.1:${port}/mcp` })
    const before = await target.fingerprint()
    await listen()
    expect(await target.fingerprint()).not.toBe(before)
  })

  it('changes when whoever renews the logins there can be asked again', async () => {
    const { listen, port } = await freePort()
    await listen()
    const { target, issuer } = await stage({ url: `http://127.0.0.1:${port}/mcp` })
    issuer.isAway = true
    const before = await target.fingerprint()
    expect(await target.fingerprint()).toBe(before)
    issuer.isAway = false
    expect(await target.fingerprint()).not.toBe(before)
  })
})

describe('an entry that is wrong', () => {
  it('leads nowhere, whatever program is named in its place', async () => {
    const { target } = await stage({ command: process.execPath, args: ['-e', ''] }, [], { wrong: 'It has no command.' })
    const events = { onMessage() {}, onEnd() {} } as unknown as Parameters<ReturnType<typeof target.open>>[0]
    await expect(target.open(undefined)(events, new AbortController().signal)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'The upstream "s" cannot be used. It has no command.',
    })
    expect(target.text).toBe('')
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
