import { describe, expect, it } from 'vitest'
import { AppError, type Control } from '../../../../contracts/index.ts'
import { CHECK, FORECAST_DOWN, NOTES, READ_FILE, READ_FILE_DETAIL, WEATHER } from '../../../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

async function run(argv: string[], control: Partial<Control>, options: CliHostOptions = {}) {
  const { host, seen } = createFakeCliHost({ control, ...options })
  return { code: await runCli(['tools', ...argv], host), ...seen }
}

describe('tools', () => {
  it('lists tools with their state, and says of disabled ones why and since when', async () => {
    const { code, stdout } = await run([], { tools: async () => [READ_FILE, WEATHER] })
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'NAME       STATE     SECTION  WHAT IT DOES',
        'read_file  active    files    Reads a text file.',
        'weather    disabled  world    Tells the weather of a city.',
        '  └ forecast has been down for 3 minutes: connection refused',
        '',
      ].join('\n'),
    )
  })

  it('hides nothing that a server wrote, also not in a schema or by spaces of another kind', async () => {
    const gap = `Reads.${'\u00a0'.repeat(60)}S\u00adend.${' '.repeat(60)}All.`
    const deep = Array.from({ length: 20 }).reduce(items => ({ items }), { type: 'string' })
    const input = { properties: { path: { description: gap } }, deep }
    const { stdout } = await run([READ_FILE.name], { tool: async () => ({ ...READ_FILE_DETAIL, short: gap, input }) })
    expect(stdout).toContain('Reads.[60 spaces]S\\xadend.[60 spaces]All.')
    expect(stdout).toContain(`Reads.${'\\u00a0'.repeat(60)}S\\u00adend.[60 spaces]All.`)
    expect(stdout).toMatch(/^ {46}"type": "string"$/m)
  })

  it('names the servers that have not been listed yet because they are still starting', async () => {
    const unseen = 'Wait for it: quartermaster upstreams restart notes, or: quartermaster up'
    const starting = { ...NOTES, state: 'starting' as const, reason: 'It has not answered yet.', unseen }
    const control = { tools: async () => [READ_FILE], upstreams: async () => [starting, { ...starting, ...NOTES }] }
    const { stderr } = await run([], control)
    expect(stderr).toBe(`"notes" has not been seen yet: It has not answered yet. ${unseen}\n`)
    expect((await run(['--json'], control)).stderr).toBe(stderr)
    expect((await run([], control, { from: 'up' })).stderr).toBe('')
  })

  it('says the same of a server that was tried and failed, with its own next step', async () => {
    const failed = { ...NOTES, state: 'down' as const, reason: 'It ended with 1.', unseen: 'Try it now.' }
    const { stderr } = await run([], { tools: async () => [READ_FILE], upstreams: async () => [failed] })
    expect(stderr).toBe('"notes" has not been seen yet: It ended with 1. Try it now.\n')
  })

  it('marks a tool whose dependency is recovering', async () => {
    const { stdout } = await run([], { tools: async () => [{ ...READ_FILE, recovering: true }] })
    expect(stdout).toContain('read_file  recovering')
  })

  it('asks only for what the options name', async () => {
    const asked: unknown[] = []
    const tools: Control['tools'] = async input => {
      asked.push(input)
      return [READ_FILE]
    }
    const checkAgent = async () => CHECK
    await run([], { tools })
    await run(['--state', 'active', '--section', 'files', '--agent', 'researcher'], { tools, checkAgent })
    expect(asked).toEqual([{}, { state: 'active', section: 'files', agent: 'researcher' }])
  })

  it.each([
    { argv: [], next: 'No tools yet. Write one in the folder capabilities, then: quartermaster reload' },
    { argv: ['--state', 'disabled'], next: 'Nothing is disabled: every tool works.' },
    { argv: ['--state', 'active'], next: 'No tool works right now. See why: quartermaster tools --state disabled' },
    { argv: ['--agent', 'bob'], next: 'Give it some: quartermaster grant bob CAPABILITY' },
    {
      argv: ['--agent', 'bob'],
      ok: false,
      next: 'The file of "bob" is wrong, and so it has no tools. See what is wrong: quartermaster agents check bob',
    },
  ])('says the next step when there is nothing: $argv', async ({ argv, ok = true, next }) => {
    const control = { tools: async () => [], checkAgent: async () => ({ ...CHECK, ok }) }
    const { code, stdout, stderr } = await run(argv, control)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain(next)
  })

  it('says when the agent sees them through the gateway view', async () => {
    const control = (view: 'direct' | 'gateway') => ({
      tools: async () => [READ_FILE],
      checkAgent: async () => ({ ...CHECK, view }),
    })
    const { stdout, stderr } = await run(['--agent', 'researcher'], control('gateway'))
    expect(stdout).toContain('read_file')
    expect(stderr).toContain('"researcher" sees these through the gateway view')
    expect((await run(['--agent', 'researcher'], control('direct'))).stderr).toBe('')
    expect((await run(['--agent', 'researcher', '--json'], control('gateway'))).stderr).toBe('')
  })

  it('suggests the section that was meant', async () => {
    const { stderr } = await run(['--section', 'flies'], {
      tools: async input => (input.section ? [] : [READ_FILE, WEATHER]),
    })
    expect(stderr).toBe('No section is named "flies". Did you mean "files"? There are: files, world.\n')
  })

  it('answers an empty list to a program without a word beside it', async () => {
    expect(await run(['--json'], { tools: async () => [] })).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' })
  })

  it('shows one tool whole, with its schema and a line that calls it', async () => {
    const { stdout } = await run(['read_file'], { tool: async () => READ_FILE_DETAIL })
    expect(stdout).toContain('read_file  active\n  Reads a text file.\n\n  When the text of one file is needed.\n')
    expect(stdout).toMatch(/Time limit\s+30 seconds/)
    expect(stdout).toContain('    "properties": {\n')
    expect(stdout).toContain("# Read my notes\n  quartermaster call read_file 'path=my notes.txt' offset=10\n")
  })

  it('says of a tool that is written down which op it is made of, and of others nothing', async () => {
    const ofOp = await run(['read_file'], { tool: async () => ({ ...READ_FILE_DETAIL, opId: 'op.notes.append' }) })
    expect(ofOp.stdout).toMatch(/^Op\s+op\.notes\.append$/m)
    expect((await run(['read_file'], { tool: async () => READ_FILE_DETAIL })).stdout).not.toMatch(/^Op\s/m)
  })

  it('says of one disabled tool what is missing and how to fix it', async () => {
    const { stdout } = await run(['weather'], {
      tool: async () => ({ ...READ_FILE_DETAIL, state: 'disabled', missing: [FORECAST_DOWN] }),
    })
    expect(stdout).toContain('forecast has been down for 3 minutes: connection refused')
    expect(stdout).not.toContain('Next recheck')
    expect(stdout).toContain('Fix: Start it with `docker compose up forecast`.')
  })

  it('says of a tool whose dependency is switched off how to switch it on', async () => {
    const { nextRecheckAt: _never, ...off } = FORECAST_DOWN
    const missing = [{ ...off, state: 'optedOut' } as const]
    const one = await run(['weather'], { tool: async () => ({ ...READ_FILE_DETAIL, state: 'disabled', missing }) })
    expect(one.stdout).toContain(
      '  forecast is switched off in the configuration\n    Fix: Switch it on in the configuration: dependencies.forecast.enabled.\n',
    )
    const all = await run([], { tools: async () => [{ ...WEATHER, missing }] })
    expect(all.stdout).toContain('└ forecast is switched off in the configuration\n')
  })

  it('prints one tool as JSON', async () => {
    const { stdout } = await run(['read_file', '--json'], { tool: async () => READ_FILE_DETAIL })
    expect(JSON.parse(stdout)).toEqual(READ_FILE_DETAIL)
  })

  it('takes no filter beside a name', async () => {
    const { code, stderr } = await run(['read_file', '--state', 'active'], {})
    expect(code).toBe(2)
    expect(stderr).toContain("--state narrows the list; it cannot stand beside a tool's name.")
  })

  it('ends with 4 and the next step when there is no such tool', async () => {
    const { code, stdout, stderr } = await run(['raed_file'], {
      tool: () =>
        Promise.reject(new AppError('TOOL_NOT_FOUND', 'No tool is named "raed_file". Did you mean "read_file"?')),
    })
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toBe(
      'Error: No tool is named "raed_file". Did you mean "read_file"?\nNext: See what there is: quartermaster tools\n(TOOL_NOT_FOUND)\n',
    )
  })
})
