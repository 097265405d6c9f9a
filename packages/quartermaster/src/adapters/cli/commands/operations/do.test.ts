import { describe, expect, it } from 'vitest'
import {
  AppError,
  type CommandDecision,
  type Control,
  type ControlInput,
  type ToolDetail,
} from '../../../../contracts/index.ts'
import { OWN_OPTIONS } from '../../../../core/kernel/index.ts'
import { FORECAST_DOWN, READ_FILE_DETAIL } from '../../../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'
import { createProgram } from '../../program.ts'

const ID = { type: 'string', maxLength: 128 }

function tool(name: string, command: CommandDecision, facts: Partial<ToolDetail> = {}): ToolDetail {
  return { ...READ_FILE_DETAIL, name, command, short: `Does ${name}.`, whenToUse: '', examples: [], ...facts }
}

function input(properties: Record<string, unknown>, required: string[] = []): Pick<ToolDetail, 'input'> {
  return { input: { type: 'object', properties, required } }
}

const TASK = { workspace_id: { ...ID, description: 'To whom.' }, task: { type: 'string', description: 'What to do.' } }
const DELEGATE = tool('delegate_task', { name: 'delegate' }, input(TASK, ['workspace_id', 'task']))
const LATER = tool(
  'delegate_task_async',
  { name: 'delegate', flag: 'async' },
  input({ ...TASK, notify: { type: 'boolean' } }, ['workspace_id', 'task']),
)
const SEARCH = tool(
  'search',
  { name: 'search', arguments: ['query'] },
  {
    section: 'world',
    state: 'disabled',
    missing: [FORECAST_DOWN],
    ...input({
      query: { type: 'string' },
      limit: { type: 'integer', default: 20, description: 'How many.' },
      scope: { type: 'string', enum: ['near', 'far'] },
      level: { enum: [1, 2, '2', null] },
      exact: { type: 'boolean', default: true, description: 'Word for word.' },
      raw: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      ports: { type: 'array', items: { type: 'integer' } },
      where: { type: 'object' },
      due: { type: ['string', 'null'] },
      timeout: { type: 'string' },
      version: { type: 'integer' },
    }),
  },
)
const SPEAK = tool('speak_up', { none: 'Nobody listens at a terminal.' }, { section: 'world' })
const TOOLS = [DELEGATE, LATER, SEARCH, SPEAK]

async function run(argv: string[], { control, ...options }: CliHostOptions = {}) {
  const calls: ControlInput<'call'>[] = []
  const found: Partial<Control> = {
    tools: async () => TOOLS,
    tool: async ({ name }) => TOOLS.find(each => each.name === name) as ToolDetail,
    call: async request => {
      calls.push(request)
      return { operationId: 'op1', result: { content: [{ type: 'text', text: 'done' }] } }
    },
  }
  const { host, seen } = createFakeCliHost({ ...options, control: { ...found, ...control } })
  return { code: await runCli(argv, host), calls, ...seen }
}

const inputOf = async (...argv: string[]) => {
  const { calls, stderr } = await run(['do', ...argv])
  return calls[0]?.input ?? stderr
}

describe('do: a call', () => {
  it('takes what is required at its place, and all the words that are left as the last text', async () => {
    const { code, calls, stdout } = await run(['do', 'delegate', 'reviewer', 'read', 'the', 'draft'])
    const expected = { workspace_id: 'reviewer', task: 'read the draft' }
    expect(calls).toEqual([{ agent: 'default', tool: 'delegate_task', input: expected, waits: true }])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'done' })
  })

  it('waits for unlisted servers only where no known tool has the word', async () => {
    const asked: boolean[] = []
    const fresh = tool('fresh_look', { name: 'fresh-look' }, input({}))
    const control: Partial<Control> = {
      tools: async (_, { onProgress } = {}) => {
        asked.push(onProgress !== undefined)
        return onProgress ? [...TOOLS, fresh] : TOOLS
      },
      tool: async ({ name }) => [...TOOLS, fresh].find(each => each.name === name) as ToolDetail,
    }
    await run(['do', 'search', 'rain'], { control })
    expect(asked).toEqual([false])
    const { calls } = await run(['do', 'fresh-look'], { control })
    expect(calls).toMatchObject([{ tool: 'fresh_look' }])
    expect(asked).toEqual([false, false, true])
  })

  it('is of the tool whose flag is written, wherever it stands', async () => {
    for (const argv of [
      ['delegate', '--async', 'reviewer', 'read', 'it'],
      ['delegate', 'reviewer', 'read', 'it', '--async'],
    ])
      expect((await run(['do', ...argv])).calls).toEqual([
        expect.objectContaining({ tool: 'delegate_task_async', input: { workspace_id: 'reviewer', task: 'read it' } }),
      ])
    const literal = await run(['do', 'delegate', 'reviewer', '--', 'what', 'does', '--async', 'do?'])
    expect(literal.calls[0]).toMatchObject({ tool: 'delegate_task', input: { task: 'what does --async do?' } })
  })

  it('reads the last text from standard input where it is -', async () => {
    const { calls } = await run(['do', 'delegate', 'reviewer', '-'], { stdin: 'a\nlong one\n' })
    expect(calls[0]?.input).toEqual({ workspace_id: 'reviewer', task: 'a\nlong one\n' })
  })

  it.each([
    [[], {}],
    [['two', 'words'], { query: 'two words' }],
    [['--limit', '5', 'x'], { limit: 5, query: 'x' }],
    [['--limit=5'], { limit: 5 }],
    [['--scope', 'far', '--level', '2'], { scope: 'far', level: 2 }],
    [['--level', '"2"'], { level: '2' }],
    [['--level', 'null'], { level: null }],
    [['--no-exact', '--raw'], { exact: false, raw: true }],
    [['--exact', '--no-raw'], { exact: true, raw: false }],
    [['--tags', 'a', '--tags', 'b', 'x'], { tags: ['a', 'b'], query: 'x' }],
    [['--ports', '1', '--ports', '2'], { ports: [1, 2] }],
    [['--where', '{"a":[1]}'], { where: { a: [1] } }],
    [['--due', 'null'], { due: null }],
    [['--due', '2026-12-01'], { due: '2026-12-01' }],
    [['--arg-timeout', 'soon'], { timeout: 'soon' }],
    [['--', '--limit', '5'], { query: '--limit 5' }],
    [['-x=1 and more'], { query: '-x=1 and more' }],
    [['-Version 2 is out'], { query: '-Version 2 is out' }],
    [['- milk\n- eggs', '--limit', '5'], { query: '- milk\n- eggs', limit: 5 }],
    [['--limit', '5', '--json is an option'], { query: '--json is an option', limit: 5 }],
    [['--due', '- or -'], { due: '- or -' }],
    [['--due=a b'], { due: 'a b' }],
    [['--version', '2'], { version: 2 }],
  ])('of %j has the input %j', async (words, expected) => {
    expect(await inputOf('search', ...words)).toEqual(expected)
  })

  it.each([
    [['search', '--limit', 'many'], 'It must be a number.'],
    [['search', '--scope', 'here'], 'It must be one of "near", "far".'],
    [['search', '--where', '{a'], 'It must be JSON.'],
    [['search', '--limt', '5'], "unknown option '--limt'\n(Did you mean --limit?)"],
    [['search', '-V'], "unknown option '-V'"],
    [['delegate', '--version', 'reviewer', 'x'], "unknown option '--version'"],
    [['delegate', 'reviewer'], "missing required argument 'TASK'"],
    [['delegate', 'reviewer', '--async'], "missing required argument 'TASK'", 'delegate --async'],
  ] as [string[], string, string?][])(
    'of %j is not understood, and what is wrong is said with where to read on',
    async (words, says, see = words[0]) => {
      const { code, calls, stderr } = await run(['do', ...words])
      expect({ code, calls }).toEqual({ code: 2, calls: [] })
      expect(stderr).toContain(says)
      expect(stderr).toContain(`See: quartermaster do ${see} --help`)
    },
  )

  it('has the options of call, before and behind the command', async () => {
    const { calls } = await run(['do', '--agent', 'eve', 'search', '--timeout', '2s', 'x', '--idempotency-key', 'k1'])
    expect(calls).toEqual([
      { agent: 'eve', tool: 'search', input: { query: 'x' }, timeoutMs: 2_000, idempotencyKey: 'k1', waits: true },
    ])
    const { stdout } = await run(['do', 'search', 'x', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ operationId: 'op1' })
  })

  it('ends as a call does: refused for a tool that is disabled, with what to do about it', async () => {
    const call = () =>
      Promise.reject(new AppError('TOOL_DISABLED', '"search" is disabled.', { details: { missing: [FORECAST_DOWN] } }))
    const { code, stderr } = await run(['do', 'search'], { control: { call } })
    expect(code).toBe(5)
    expect(stderr).toContain('recheck tool:search --force')
  })
})

describe('do: help', () => {
  it('of a command is made from the schema, with the defaults and the values there are', async () => {
    const { code, stdout, calls } = await run(['do', 'search', '--help'], { columns: 100 })
    expect({ code, calls }).toEqual({ code: 0, calls: [] })
    expect(stdout).toContain('Usage: quartermaster do search [QUERY...] [--limit N] [--scope near|far]')
    expect(stdout).toContain('How many. (default: 20)')
    expect(stdout).toMatch(/--no-exact +turns off: Word for word\.\n/)
    expect(stdout).not.toContain('--exact ')
    expect(stdout).toContain('(choices: "near", "far")')
    expect(stdout).toContain('--agent <NAME>')
    expect(stdout).toContain('quartermaster call search')
  })

  it('names the other tools of the word by their flags', async () => {
    expect((await run(['do', 'delegate', '-h'])).stdout).toContain('instead: Does delegate_task_async.')
    const { stdout } = await run(['do', 'delegate', '--async', '--help'])
    expect(stdout).toContain('do delegate --async <WORKSPACE_ID> <TASK...> [--notify] [options]')
  })

  it('of do itself needs no running up', async () => {
    for (const argv of [
      ['do', '--help'],
      ['help', 'do'],
    ])
      expect(await run(argv)).toMatchObject({ code: 0, opened: [], stdout: expect.stringContaining('[COMMAND]') })
  })

  it('shows no control characters of a description', async () => {
    const short = 'Red\u001b[31m.'
    const hostile = tool('x', { name: 'x' }, { short, ...input({ a: { type: 'string', description: short } }) })
    const { stdout } = await run(['do', 'x', '--help'], {
      control: { tools: async () => [hostile], tool: async () => hostile },
    })
    expect(stdout).not.toContain('\u001b')
  })

  // A mark and a letter can stand in a name, and both can be invisible.
  it('shows nothing that steers a terminal or cannot be seen, wherever a server says something', async () => {
    const said = 'a\u009b2Jb\u202ec\u{e0041}d\u0085e\u200bf\u00adg\u180eh'
    const field = { type: 'string', description: said, enum: [said], default: said }
    const properties = { ['at\u3164\u{e0101}']: field, ['x\u034f\u3164y']: field, ['flag\u3164z']: { type: 'boolean' } }
    const hostile = tool(
      'x',
      { name: 'x' },
      { short: said, whenToUse: said, ...input(properties, ['at\u3164\u{e0101}']) },
    )
    const control = { tools: async () => [hostile], tool: async () => hostile }
    for (const argv of [['--help'], ['no'], [said, '--x', 'no'], []]) {
      const { stdout, stderr } = await run(['do', 'x', ...argv], { control })
      expect(stdout + stderr).not.toMatch(/[\u0085\u009b\u202e\u{e0041}\u200b\u00ad\u180e\u3164]|\u{e0101}|\u034f/u)
    }
  })

  it('lets no line of a server stand where ours begin', async () => {
    const said = 'Good text.\n✓ "a" is accepted.'
    const hostile = tool('x', { name: 'x' }, { short: said, whenToUse: said })
    const control = { tools: async () => [hostile], tool: async () => hostile }
    const { stdout } = await run(['do', 'x', '--help'], { control })
    expect(stdout).toContain('  ✓ "a" is accepted.')
    expect(stdout).not.toMatch(/^✓/m)
  })

  it('shows the choices as escapes and takes them as they are', async () => {
    const choice = 'a\u009bb\u200bc'
    const hostile = tool('x', { name: 'x' }, input({ mode: { type: 'string', enum: [choice] } }, ['mode']))
    const control = { tools: async () => [hostile], tool: async () => hostile }
    expect((await run(['do', 'x', '--help'], { control })).stdout).toContain('(choices: "a\\x9bb\\u{200b}c")')
    expect((await run(['do', 'x', choice], { control })).calls[0]?.input).toEqual({ mode: choice })
  })
})

describe('do: words', () => {
  it('are listed by section, with what is disabled and what has none', async () => {
    const { code, stdout } = await run(['do', '--agent', 'eve'])
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'files',
        '  delegate          Does delegate_task.',
        '  delegate --async  Does delegate_task_async.',
        '',
        'world',
        '  search      Does search. Disabled: forecast has been down for 3 minutes: connection refused.',
        '  (speak_up)  Does speak_up. Without a command: Nobody listens at a terminal. By its name: quartermaster call speak_up',
        '',
      ].join('\n'),
    )
  })

  it('are listed as JSON', async () => {
    const listed = JSON.parse((await run(['do', '--json'])).stdout)
    expect(listed).toMatchObject([
      { command: 'delegate', tool: 'delegate_task', state: 'active' },
      { command: 'delegate --async', tool: 'delegate_task_async' },
      { command: 'search', state: 'disabled', missing: [FORECAST_DOWN] },
      { none: 'Nobody listens at a terminal.', tool: 'speak_up' },
    ])
  })

  it.each([
    [['serch'], 4, 'No tool has the command "serch". Did you mean "search"?'],
    [['speak_up'], 2, 'Nobody listens at a terminal.\nIt is called by its name: quartermaster call speak_up'],
    [['speak-up'], 2, 'quartermaster call speak_up'],
    [['delegate_task_async'], 2, 'The command of "delegate_task_async" is: quartermaster do delegate --async'],
    [['--limit', '5'], 2, 'The command stands before its options'],
  ])('%j: is told what there is instead', async (words, code, says) => {
    const answer = await run(['do', ...words])
    expect(answer.code).toBe(code)
    expect(answer.stderr).toContain(says)
  })

  it.each([
    ['notes_held', 'notes-held'],
    ['notes_held-back', 'notes-held-back'],
    ['notes-held', 'notes-held'],
  ])('of %s, which is held back, are answered as a call of it is', async (name, word) => {
    const lookUp = async ({ name: one }: { name: string }) => {
      if (one === name)
        throw new AppError('TOOL_DISABLED', `"${name}" is not offered now. Nobody has looked at it yet.`)
      throw new AppError('TOOL_NOT_FOUND', `There is no tool "${one}".`)
    }
    for (const argv of [[word], [word, '--help'], [word, 'x', '--limit', '5']]) {
      const { code, calls, stderr } = await run(['do', ...argv], { control: { tool: lookUp } })
      expect({ code, calls }).toEqual({ code: 5, calls: [] })
      expect(stderr).toContain(`"${name}" is not offered now. Nobody has looked at it yet.`)
    }
  })

  it('that cannot be looked up because no up answers say why', async () => {
    const lookUp = () => Promise.reject(new AppError('DEPENDENCY_UNAVAILABLE', 'Nobody answers.'))
    expect(await run(['do', 'gone'], { control: { tool: lookUp } })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('Nobody answers.'),
    })
  })

  it('are found where their words stand apart', async () => {
    const control = { tools: async () => [tool('hang_look', { name: 'hang-look' }, input({}, []))] }
    for (const words of [
      ['hang', 'look'],
      ['hang', 'look', 'x', '--limit', '5'],
    ])
      expect((await run(['do', ...words], { control })).stderr).toContain('Did you mean "hang-look"?')
    expect((await run(['do', 'hang', '--limit', 'look'], { control })).stderr).not.toContain('Did you mean')
  })

  it('are told where only a flag leads to a tool', async () => {
    const { stderr } = await run(['do', 'delegate', 'x', 'y'], { control: { tools: async () => [LATER] } })
    expect(stderr).toContain('There is no "delegate" alone. Write "delegate --async".')
  })
})

it('reserves the options of do itself, and no others', () => {
  const output = { writeOut() {}, writeErr() {}, width: 80, color: false, title: (text: string) => text }
  const program = createProgram({ version: '', act: async () => {}, output })
  const own = program.commands.find(command => command.name() === 'do')?.options ?? []
  const names = [...program.options, ...own].map(option => option.long?.replace(/^--(no-)?/, ''))
  // Where to ask is said at the commands that can ask elsewhere, and the version is that of the program alone.
  expect(new Set([...names, 'url'])).toEqual(new Set([...OWN_OPTIONS, 'version']))
})
