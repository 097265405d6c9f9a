import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'
import { createProgram } from '../../program.ts'

async function run(argv: string[], env: Record<string, string> = {}) {
  const control = { approvals: async () => [], grants: async () => [], status: async () => ({}) as never }
  const { host, seen } = createFakeCliHost({ env, control })
  return { code: await runCli(argv, host), ...seen }
}

/** What agents and persons have, joining with a code, and a script for the shell with what it asks. */
const OF_OTHERS = new Set([
  'join',
  'do',
  'call',
  'tools',
  'prompt',
  'docs',
  'approvals',
  'grants',
  'completion',
  '__complete',
])

function isOfOthers([first = '', second]: readonly string[]): boolean {
  return OF_OTHERS.has(first) && !(first === 'docs' && second === 'check')
}

/** Every command there is, with a word for each argument that it needs. */
const LINES: readonly string[][] = linesOf(
  createProgram({
    version: '1',
    act: async () => {},
    output: { writeOut() {}, writeErr() {}, width: 80, color: false, title: text => text },
  }),
)

function linesOf(command: Command, before: readonly string[] = []): string[][] {
  const needed = command.registeredArguments.filter(({ required }) => required)
  const words = needed.map(({ argChoices }) => argChoices?.[0] ?? 'x')
  const options = command.options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [long ?? '', 'x'])
  // What only holds others prints help; of those that act, too, the ones below are looked at.
  const own = command.commands.length > 0 ? [] : [[...before, ...words, ...options]]
  return [...own, ...command.commands.flatMap(sub => linesOf(sub, [...before, sub.name()]))]
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
    const refused = await run(['status', '--json'], { QUARTERMASTER_TOKEN: 'qm_eve' })
    expect(refused).toMatchObject({ code: 8, opened: [], stdout: expect.stringContaining('"REQUEST_REFUSED"') })
    const there = await run(['status', '--url', 'https://x'], { QUARTERMASTER_TOKEN: 'qm_eve' })
    expect(there).toMatchObject({ code: 2, opened: [], stderr: expect.stringContaining("unknown option '--url'") })
  })

  it.each(LINES.filter(line => !isOfOthers(line)))('refuses what is the owner’s: %s %s %s', async (...line) => {
    const { host, seen } = createFakeCliHost({ env: { QUARTERMASTER_TOKEN: 'qm_worker' } })
    const words = line.filter(word => word !== undefined)
    expect([await runCli(words, host), seen.opened, seen.stdout]).toEqual([8, [], ''])
    expect(seen.stderr).toContain('is for the owner of the data folder')
  })

  it.each(LINES.filter(isOfOthers))('never opens the control of the owner: %s %s %s', async (...line) => {
    const opened: object[] = []
    const { host } = createFakeCliHost({ env: { QUARTERMASTER_TOKEN: 'qm_worker' } })
    const openControl: typeof host.openControl = from => {
      opened.push(from)
      return host.openControl(from)
    }
    await runCli(line, { ...host, openControl })
    expect(opened).toEqual([])
  })
})
