import { describe, expect, it } from 'vitest'
import { createFakeCliHost } from '../../testing/cli-host.ts'
import { runCli } from './index.ts'

async function run(argv: string[], env: Record<string, string> = {}) {
  const control = { approvals: async () => [], grants: async () => [], status: async () => ({}) as never }
  const { host, seen } = createFakeCliHost({ env, control })
  return { code: await runCli(argv, host), ...seen }
}

describe('a token in QUARTERMASTER_TOKEN', () => {
  it.each([['approvals'], ['grants', 'list']])('is who `%s` speaks for', async (...argv) => {
    const env = { QUARTERMASTER_TOKEN: 'qm_eve\n', QUARTERMASTER_URL: 'https://tools.example' }
    expect((await run(argv, { QUARTERMASTER_TOKEN: 'qm_eve' })).opened).toEqual([{ token: 'qm_eve' }])
    expect((await run(argv, env)).opened).toEqual([{ token: 'qm_eve', url: 'https://tools.example' }])
    const elsewhere = ['--url', 'https://other.example', '--data', 'd']
    expect((await run([...argv, ...elsewhere], env)).opened).toEqual([
      { token: 'qm_eve', url: 'https://other.example', data: 'd' },
    ])
    expect((await run(argv)).opened).toEqual([{}])
  })

  it('that is empty, or missing beside an address, never ends with the owner’s word', async () => {
    for (const env of [{ QUARTERMASTER_TOKEN: '' }, { QUARTERMASTER_TOKEN: ' ' }, { QUARTERMASTER_URL: 'https://x' }])
      expect(await run(['approvals'], env)).toMatchObject({ code: 2, opened: [] })
    const missing = await run(['approvals', '--url', 'https://x'])
    expect(missing).toMatchObject({ code: 2, opened: [], stderr: expect.stringContaining('QUARTERMASTER_TOKEN') })
  })

  it('is not for commands that are the owner’s, and neither is an address', async () => {
    expect((await run(['status', '--json'], { QUARTERMASTER_TOKEN: 'qm_eve' })).opened).toEqual([{}])
    const there = await run(['status', '--url', 'https://x'], { QUARTERMASTER_TOKEN: 'qm_eve' })
    expect(there).toMatchObject({ code: 2, opened: [], stderr: expect.stringContaining("unknown option '--url'") })
  })
})
