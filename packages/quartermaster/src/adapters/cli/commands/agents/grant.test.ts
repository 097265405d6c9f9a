import { describe, expect, it } from 'vitest'
import type { Control, ControlInput } from '../../../../contracts/index.ts'
import { CHECK, FILES } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

async function run(argv: string[], ok = true) {
  const granted: ControlInput<'grant'>[] = []
  const grant: Control['grant'] = async input => {
    granted.push(input)
    return { file: 'agents/researcher.json', agent: { capabilities: { files: {} } }, check: { ...CHECK, ok } }
  }
  const { host, seen } = createFakeCliHost({ control: { grant, capabilities: async () => [FILES] } })
  return { code: await runCli(['grant', ...argv], host), granted, ...seen }
}

describe('grant', () => {
  it('gives an agent a capability and shows what it has now', async () => {
    const { code, granted, stdout } = await run(['researcher', 'files', '--create'])
    expect(code).toBe(0)
    expect(granted).toEqual([{ agent: 'researcher', capability: 'files', create: true }])
    expect(stdout).toContain('✓ "researcher" has "files": 1 granted, 1 unavailable, 1 skipped (agents/researcher.json)')
    expect(stdout).toContain('forecast is down')
  })

  it('narrows it to tools, configures it and allows consent operations', async () => {
    const { granted } = await run([
      ...['researcher', 'files', '--tools', 'read_file, list_files'],
      ...['--set', 'dirs=["./reports"]', 'label=2024', '--set', 'deep.er=true'],
      ...['--consent', 'files.write', '--consent', 'files.delete'],
    ])
    expect(granted).toEqual([
      {
        agent: 'researcher',
        capability: 'files',
        tools: ['read_file', 'list_files'],
        config: { dirs: ['./reports'], label: '2024', deep: { er: true } },
        consent: ['files.write', 'files.delete'],
      },
    ])
  })

  it('takes an empty list of tools as none', async () => {
    expect((await run(['researcher', 'files', '--tools', ''])).granted).toEqual([
      { agent: 'researcher', capability: 'files', tools: [] },
    ])
  })

  it('takes a capability away, and what was allowed with it', async () => {
    const { granted, stdout } = await run(['researcher', 'files', '--revoke', '--consent', 'files.write'])
    expect(granted).toEqual([{ agent: 'researcher', capability: 'files', revoke: true, consent: ['files.write'] }])
    expect(stdout).toContain('"researcher" no longer has "files"')
  })

  it('does not give and take at once', async () => {
    const { code, granted, stderr } = await run(['researcher', 'files', '--revoke', '--tools', 'read_file'])
    expect({ code, granted }).toEqual({ code: 2, granted: [] })
    expect(stderr).toContain("option '--revoke' cannot be used with option '--tools <NAMES>'")
  })

  it('ends with 1 when the file it wrote has problems', async () => {
    expect((await run(['researcher', 'files'], false)).code).toBe(1)
  })

  it.each(['dirs', '=x'])('refuses a setting that is no key and value: %s', async word => {
    const { code, granted, stderr } = await run(['researcher', 'files', '--set', word])
    expect({ code, granted }).toEqual({ code: 2, granted: [] })
    expect(stderr).toContain(`"${word}" is neither key=value`)
  })
})
