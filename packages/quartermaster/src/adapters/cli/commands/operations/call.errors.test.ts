import { describe, expect, it } from 'vitest'
import { type AgentSummary, AppError, type Control, type ResolutionEntry } from '../../../../contracts/index.ts'
import { CHECK, FILES, FORECAST_DOWN, READ_FILE_DETAIL } from '../../../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { fakeControl } from '../../../../testing/fake-control.ts'
import { type OpenedControl, runCli } from '../../index.ts'

interface Situation extends CliHostOptions {
  error: AppError
  from?: OpenedControl['from']
}

async function run(argv: string[], { error, from = 'process', ...options }: Situation) {
  const { host, seen } = createFakeCliHost(options)
  const control = fakeControl({ call: () => Promise.reject(error), ...options.control })
  const openControl = async () => ({ control, from, close: async () => {} })
  return { code: await runCli(['call', ...argv], { ...host, openControl }), ...seen }
}

/** What stands behind "Next:", each line without its indent. */
function nextOf(stderr: string): string[] {
  const [, next = ''] = /^Next: ((?:.*\n(?: {6})?)*?)\(/m.exec(stderr) ?? []
  return next
    .trimEnd()
    .split('\n')
    .map(line => line.trim())
}

describe('call: a disabled tool', () => {
  const disabled = (missing: object[], tool = 'weather') =>
    new AppError('TOOL_DISABLED', `"${tool}" is disabled. It needs …`, { details: { tool, missing } })
  const { nextRecheckAt: _never, ...never } = FORECAST_DOWN
  const OFF = { ...never, state: 'optedOut' }

  it('says what is missing, why, since when, when up looks again and how to fix it', async () => {
    const { code, stdout, stderr } = await run(['weather'], { error: disabled([FORECAST_DOWN]), from: 'up' })
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toBe(
      [
        'Error: "weather" is disabled.',
        '  forecast has been down for 3 minutes: connection refused',
        '    Next recheck: in 20 seconds.',
        '    Fix: Start it with `docker compose up forecast`.',
        'Next: Fix what is missing, then: quartermaster recheck tool:weather --force',
        '      Or have it run later: add --when-disabled wait',
        '      Or run it anyway: add --even-if-disabled',
        '(TOOL_DISABLED)',
        '',
      ].join('\n'),
    )
  })

  it('mentions no wait where no up runs, because the next command checks again', async () => {
    const { stderr } = await run(['weather'], { error: disabled([FORECAST_DOWN]) })
    expect(stderr).toContain('connection refused\n    Fix: Start it')
    expect(stderr).not.toContain('Next recheck')
    expect(nextOf(stderr)[0]).toBe('Fix what is missing, then: quartermaster recheck tool:weather --force')
  })

  it('says how to switch on what is switched off, and offers no recheck', async () => {
    const { stderr } = await run(['weather'], { error: disabled([OFF]), from: 'up' })
    expect(stderr).toBe(
      [
        'Error: "weather" is disabled.',
        '  forecast is switched off in the configuration',
        '    Fix: Switch it on in the configuration: dependencies.forecast.enabled.',
        'Next: Switch on what is switched off, then call it again.',
        '      Or have it run later: add --when-disabled wait',
        '      Or run it anyway: add --even-if-disabled',
        '(TOOL_DISABLED)',
        '',
      ].join('\n'),
    )
  })

  it('offers no recheck when what it needs hangs on something that is switched off', async () => {
    const fix = 'Switch it on in the configuration: dependencies.network.enabled.'
    const child = { ...never, reason: 'It needs "network", which is switched off.', fix }
    const { stderr } = await run(['weather'], { error: disabled([child]), from: 'up' })
    expect(stderr).toContain(`which is switched off.\n    Fix: ${fix}\nNext: Switch on`)
    expect(stderr).not.toContain('recheck')
  })

  it('offers a recheck when something else is missing too', async () => {
    const { stderr } = await run(['weather'], { error: disabled([OFF, { ...FORECAST_DOWN, dependency: 'mail' }]) })
    expect(nextOf(stderr)[0]).toBe('Fix what is missing, then: quartermaster recheck tool:weather --force')
  })

  it('names the nested tool that is disabled, which no option of this call can run', async () => {
    const { stderr } = await run(['weather'], { error: disabled([FORECAST_DOWN], 'geocode') })
    expect(nextOf(stderr)).toEqual(['Fix what is missing, then: quartermaster recheck tool:geocode --force'])
  })
})

describe('call: a tool the agent does not have', () => {
  const error = new AppError('TOOL_NOT_FOUND', '"bob" has no tool "read_file".')
  const BOB: AgentSummary = { name: 'bob', capabilities: [], granted: 0, unavailable: 0, problems: [] }
  const tool: Control['tool'] = async () => READ_FILE_DETAIL

  /** How the command line answers when the agent's file says this. */
  async function nextFor(agent: Partial<AgentSummary>, report: ResolutionEntry[] = [], isRight = true) {
    const control: Partial<Control> = {
      tool,
      capabilities: async () => [FILES],
      agents: async () => [{ ...BOB, ...agent }],
      checkAgent: async () => ({ ...CHECK, name: 'bob', report, ok: isRight }),
    }
    return nextOf((await run(['read_file', '--agent', 'bob'], { error, control })).stderr)
  }
  const entry = (name: string): ResolutionEntry => ({ capability: 'files', tool: name, state: 'granted' })

  it('can be given to it by its owner, with the command for it', async () => {
    expect(await nextFor({})).toEqual(['Give it: quartermaster grant bob files'])
  })

  it.each([
    [
      'read_docs',
      /^It comes automatically with a page of the project's own in knowledge\/, or with "view": "gateway" in /,
    ],
    ['get_status', /^It comes automatically with a tool whose calls may have to wait, or with "view": "gateway" in /],
    ['find_tools', /^It comes automatically with "view": "gateway" in the agent's file\.$/],
  ])('is not given where it comes by itself: %s', async (name, says) => {
    const control: Partial<Control> = {
      tool: async () => ({ ...READ_FILE_DETAIL, name, capability: 'docs' }),
      capabilities: async () => [FILES],
    }
    expect(nextOf((await run([name], { error, control })).stderr)).toEqual([expect.stringMatching(says)])
  })

  it('is given beside the tools it has of that capability', async () => {
    const next = ['Give it: quartermaster grant bob files --tools list_files,read_file']
    expect(await nextFor({ capabilities: ['files'] }, [entry('list_files')])).toEqual(next)
  })

  it('is given alone where the agent may use nothing of that capability', async () => {
    expect(await nextFor({ capabilities: ['files'] })).toEqual([
      'Give it: quartermaster grant bob files --tools read_file',
    ])
  })

  it('is not given to an agent whose file must be fixed first', async () => {
    expect(await nextFor({}, [], false)).toEqual(['See what is wrong with its file: quartermaster agents check bob'])
  })

  it('is not given again when another tool that it calls is the one that is missing', async () => {
    expect(await nextFor({ capabilities: ['files'] }, [entry('read_file')])).toEqual([
      'See what it has: quartermaster tools --agent bob',
    ])
  })

  it('can be given although nothing else is known of the agent', async () => {
    const { stderr } = await run(['read_file', '--agent', 'bob'], { error, control: { tool } })
    expect(nextOf(stderr)).toEqual(['Give it: quartermaster grant bob files'])
  })

  it('is suggested from what it has when there is no such tool at all', async () => {
    const mistyped = new AppError('TOOL_NOT_FOUND', '"bob" has no tool "raed_file". Did you mean "read_file"?')
    const { code, stderr } = await run(['raed_file', '--agent', 'bob'], {
      error: mistyped,
      control: { tool: () => Promise.reject(new AppError('TOOL_NOT_FOUND', 'There is no tool "raed_file".')) },
    })
    expect(code).toBe(4)
    expect(stderr).toBe(
      'Error: "bob" has no tool "raed_file". Did you mean "read_file"?\nNext: See what it has: quartermaster tools --agent bob\n(TOOL_NOT_FOUND)\n',
    )
  })

  it('is looked up for people only', async () => {
    const asked: string[] = []
    const control: Partial<Control> = { tool: async ({ name }) => (asked.push(name), READ_FILE_DETAIL) }
    const { stdout } = await run(['read_file', '--json'], { error, control })
    expect(asked).toEqual([])
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } })
  })
})

describe('call: errors', () => {
  it('say how to make an agent that may call it when there is none of that name', async () => {
    const { stderr } = await run(['read_file', '--agent', 'bob'], {
      error: new AppError('AGENT_NOT_FOUND', 'There is no agent "bob".'),
      control: { tool: async () => READ_FILE_DETAIL },
    })
    expect(nextOf(stderr)[0]).toContain('make it: quartermaster grant bob files --create')
  })

  it('say what is wrong with the arguments once, and where to look', async () => {
    const issues = [
      { path: ['path'], message: 'is missing' },
      { path: [], message: 'is too large' },
    ]
    const error = new AppError('INPUT_INVALID', 'The arguments are wrong. path: is missing.', { details: { issues } })
    const { code, stderr } = await run(['read_file'], { error })
    expect(code).toBe(3)
    expect(stderr).toBe(
      'Error: The arguments are wrong. path: is missing.\n  input: is too large\nNext: See what it takes: quartermaster tools read_file\n(INPUT_INVALID)\n',
    )
  })

  it('are followed by what the tool said, where its result does not fit', async () => {
    const content = [
      { type: 'text', text: 'Order 7 is placed.\n\u001b[2JBye.' },
      { type: 'image', data: 'QUJD', mimeType: 'image/png' },
    ]
    const error = new AppError('OUTPUT_INVALID', '"order" ran, but its result is wrong.', { details: { content } })
    const { stderr } = await run(['order'], { error })
    expect(stderr).toMatch(
      /^Error: "order" ran, .*\nIt said:\n {2}Order 7 is placed\.\n {2}.*Bye\.\n {2}\[image image\/png, /,
    )
    expect(stderr).not.toContain('\u001b')
  })

  it.each([
    [{ operationId: 'op_1' }, 'quartermaster operations show op_1 --json.'],
    [{}, 'the same with --json, or 2> into a file.'],
  ])(
    'are followed by the beginning of what the tool said on a terminal, and the way to the rest: %j',
    async (more, way) => {
      const text = 'Much. '.repeat(5_000)
      const details = { content: [{ type: 'text', text }], ...more }
      const error = new AppError('OUTCOME_UNKNOWN', '"order" ran.', { details })
      const shown = await run(['order'], { error, terminal: { stderr: true } })
      expect(shown.stderr.length).toBeLessThan(4_000)
      expect(shown.stderr.replace(/\s+/g, ' ')).toContain(
        `What it said is cut at 2 kB of 30 kB. To see all of it: ${way}`,
      )
      expect((await run(['order'], { error })).stderr).toContain(text.trim())
    },
  )

  it('say of a dependency that failed where to look and how to look again', async () => {
    const { stderr } = await run(['weather'], { error: new AppError('DEPENDENCY_UNAVAILABLE', 'No answer.') })
    expect(nextOf(stderr)).toEqual(['See what is down: quartermaster status, then: quartermaster recheck tool:weather'])
  })

  it.each([
    ['up', {}, 'See what is down: quartermaster status, then: quartermaster recheck tool:weather'],
    ['process', {}, 'Fix what is said here, then try it: quartermaster upstreams restart crm'],
    [
      'process',
      { retryAfterMs: 5_000 },
      'See what is down: quartermaster status, then: quartermaster recheck tool:weather',
    ],
  ] as const)('say of a server that failed how to try it, where an %s answers: %j', async (from, busy, step) => {
    const details = { dependency: 'upstream-crm', ...busy }
    const error = new AppError('DEPENDENCY_UNAVAILABLE', 'It ended.', { details })
    expect(nextOf((await run(['weather'], { error, from })).stderr)).toEqual([step])
  })

  it.each([
    ['up', 'See how it stands: quartermaster upstreams show crm'],
    ['process', 'Fix what is said here, then call it again.'],
  ] as const)(
    'say of a server that one agent cannot reach what tells of it, where an %s has that',
    async (from, step) => {
      const error = new AppError('DEPENDENCY_UNAVAILABLE', 'No key.', { details: { upstream: 'crm', agent: 'bob' } })
      const { stderr } = await run(['weather'], { error, from })
      expect(nextOf(stderr)).toEqual([step])
    },
  )

  it('tell how to give more time: to the caller, or to the owner of the tool’s limit', async () => {
    const late = (details = {}) => new AppError('DEADLINE_EXCEEDED', 'Too slow.', { details })
    expect(nextOf((await run(['weather'], { error: late() })).stderr)).toEqual(['Give it more time: add --timeout 2m'])
    const [step] = nextOf((await run(['weather'], { error: late({ runLimitMs: 300 }) })).stderr)
    expect(step).toMatch(/^That is its own limit\. Give it more as "timeoutMs"/)
  })

  it('are the one JSON value on standard output with --json', async () => {
    const error = new AppError('DEADLINE_EXCEEDED', 'Too slow.', { details: { tool: 'read_file' } })
    const { code, stdout, stderr } = await run(['read_file', '--json'], { error })
    expect({ code, stderr }).toEqual({ code: 6, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'DEADLINE_EXCEEDED',
        kind: 'timeout',
        retry: 'later',
        message: 'Too slow.',
        details: { tool: 'read_file' },
      },
    })
  })

  it('show control characters of messages instead of sending them', async () => {
    const { stderr } = await run(['read_file'], { error: new AppError('INTERNAL', 'a\u001b[2Jb') })
    expect(stderr).toContain('Error: a\\x1b[2Jb\n')
  })
})
