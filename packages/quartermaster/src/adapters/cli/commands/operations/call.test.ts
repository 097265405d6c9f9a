import { describe, expect, it } from 'vitest'
import {
  AppError,
  type CallAnswer,
  type Control,
  type ControlInput,
  type ToolResult,
} from '../../../../contracts/index.ts'
import { READ_FILE_DETAIL } from '../../../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

interface Situation extends CliHostOptions {
  result?: ToolResult
  kept?: CallAnswer['kept']
}

const text = (...texts: string[]): ToolResult => ({ content: texts.map(each => ({ type: 'text', text: each })) })

async function run(argv: string[], { result = text('done'), kept, ...options }: Situation = {}) {
  const calls: ControlInput<'call'>[] = []
  const call: Control['call'] = async input => {
    calls.push(input)
    return kept ? { operationId: 'op1', result, kept } : { operationId: 'op1', result }
  }
  const { host, seen } = createFakeCliHost({
    ...options,
    control: { tool: async () => READ_FILE_DETAIL, call, ...options.control },
  })
  return { code: await runCli(['call', ...argv], host), calls, ...seen }
}

describe('call: arguments', () => {
  it.each(['TOOL_DISABLED', 'TOOL_NOT_FOUND'] as const)(
    'are passed on where the input of the tool is unknown, so that a refusal is on record: %s',
    async code => {
      const tool = () => Promise.reject(new AppError(code, 'Not now.'))
      const { calls } = await run(['mail_send', 'to=ada', 'copies=2'], { control: { tool } })
      expect(calls[0]).toMatchObject({ tool: 'mail_send', input: { to: 'ada', copies: 2 } })
    },
  )

  it('are not read where the input of the tool cannot be looked up', async () => {
    const tool = () => Promise.reject(new AppError('DEPENDENCY_UNAVAILABLE', 'Nobody answers.'))
    expect(await run(['mail_send', 'to=ada'], { control: { tool } })).toMatchObject({ code: 5, calls: [] })
  })

  it('takes one JSON object', async () => {
    const { code, calls } = await run(['read_file', '{"path":"a.txt","offset":2}'])
    expect(code).toBe(0)
    expect(calls).toEqual([{ agent: 'default', tool: 'read_file', input: { path: 'a.txt', offset: 2 }, waits: true }])
  })

  it('takes pairs, by the schema of the tool', async () => {
    const { calls } = await run(['read_file', 'path=12', 'offset=3', 'options.raw=true', 'more=x=y'])
    expect(calls[0]?.input).toEqual({ path: '12', offset: 3, options: { raw: true }, more: 'x=y' })
  })

  it('reads JSON from standard input', async () => {
    const { calls } = await run(['read_file', '-'], { stdin: ' {"path":"a.txt"}\n' })
    expect(calls[0]?.input).toEqual({ path: 'a.txt' })
  })

  it('takes none', async () => {
    expect((await run(['read_file'])).calls[0]?.input).toEqual({})
  })

  it('passes on who calls, how long it may take and that it is meant to run anyway', async () => {
    const { calls } = await run(['read_file', '--agent', 'researcher', '--timeout', '1.5s', '--even-if-disabled'])
    expect(calls).toEqual([
      { agent: 'researcher', tool: 'read_file', input: {}, timeoutMs: 1_500, evenIfDisabled: true, waits: true },
    ])
  })

  it.each([
    { argv: ['{"path":'], says: 'The argument is not valid JSON' },
    { argv: ['[1]'], says: 'must be one JSON object' },
    { argv: ['notes.txt'], says: '"notes.txt" is neither key=value nor one JSON object' },
    { argv: ['path=a', 'path=b'], says: '"path" is given twice' },
    { argv: ['a=1', 'a.b=2'], says: '"a.b" goes into "a", which already has a value' },
    { argv: ['__proto__.x=1'], says: 'no name an argument can have' },
    { argv: ['a..b=1'], says: 'has an empty part' },
    { argv: ['--timeout', '30'], says: 'It has no unit. Write 30s' },
    { argv: ['--timeout', 'soon'], says: 'such as 500ms, 30s, 2m, 1h or 1d' },
    { argv: ['--timeout', '0s'], says: 'longer than nothing' },
    { argv: ['--timeout', '25h'], says: 'at most 24h' },
  ])('refuses $argv before anything runs', async ({ argv, says }) => {
    const { code, calls, stdout, stderr } = await run(['read_file', ...argv])
    expect({ code, calls, stdout }).toEqual({ code: 2, calls: [], stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr).toContain('See: quartermaster call --help')
  })

  it('refuses standard input that is no JSON', async () => {
    const { code, stderr } = await run(['read_file', '-'], { stdin: 'path: a' })
    expect(code).toBe(2)
    expect(stderr).toContain('Standard input is not valid JSON')
  })
})

describe('call: results', () => {
  it('prints the text as it is, adding nothing in a pipe', async () => {
    expect(await run(['read_file'], { result: text('one\r\n\u001b[1mtwo') })).toMatchObject({
      stdout: 'one\r\n\u001b[1mtwo',
      stderr: '',
    })
  })

  it('makes what could steer a terminal visible there, and ends the line', async () => {
    const { stdout } = await run(['read_file'], { result: text('one\n\t\u001b[2Jtwo'), terminal: { stdout: true } })
    expect(stdout).toBe('one\n\t\\x1b[2Jtwo\n')
  })

  it('shows what cannot be seen on a terminal, and leaves every text as it is in a pipe', async () => {
    const said = 'pass\u00adword\u200b\u180e 👩\u200d🚀'
    const shown = await run(['read_file'], { result: text(said), terminal: { stdout: true } })
    expect(shown.stdout).toBe('pass\\xadword\\u{200b}\\u{180e} 👩\u200d🚀\n')
    expect((await run(['read_file'], { result: text(said) })).stdout).toBe(said)
  })

  it.each([true, false])(
    'has nothing in its JSON that cannot be seen, and the same value (terminal: %j)',
    async stdout => {
      const said = 'pass\u00adword\u200b\u180e\u009b\u202e\u{e0101}'
      const result = { content: [{ type: 'text' as const, text: said }], structuredContent: { [said]: said } }
      const answer = await run(['read_file', '--json'], { result, terminal: { stdout } })
      expect(answer.stdout).not.toMatch(/[\u00ad\u200b\u180e\u009b\u202e]|\u{e0101}/u)
      expect(JSON.parse(answer.stdout)).toMatchObject({ result })
    },
  )

  it.each(['one\n', 'one\r\n', ''])('adds no empty line on a terminal to %j', async said => {
    const { stdout } = await run(['read_file'], { result: text(said), terminal: { stdout: true } })
    expect(stdout).toBe(said.replace('\r', ''))
  })

  it('begins every block on its own line and sums up what is no text', async () => {
    const data = Buffer.alloc(12_000).toString('base64')
    const { stdout } = await run(['read_file'], {
      result: {
        content: [
          { type: 'text', text: 'See:' },
          { type: 'image', data, mimeType: 'image/png' },
          { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
          { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: data } },
          { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
          { type: 'resource_link', uri: 'file:///b', name: 'b' },
        ],
      },
    })
    expect(stdout.split('\n')).toEqual([
      'See:',
      '[image image/png, 12 kB]',
      '[audio audio/wav, 3 B]',
      '[resource file:///a.pdf application/pdf, 12 kB]',
      'inside',
      '[link b file:///b]',
    ])
  })

  it('keeps what is no text on its one line, whatever a server calls it', async () => {
    const forged = 'a\u001b[2J\nForged'
    const { stdout } = await run(['read_file'], {
      result: {
        content: [
          { type: 'image', data: 'AAAA', mimeType: forged },
          { type: 'resource', resource: { uri: forged, blob: 'AAAA' } },
          { type: 'resource_link', uri: forged, name: forged },
        ],
      },
    })
    const shown = 'a\\x1b[2J Forged'
    expect(stdout.split('\n')).toEqual([
      `[image ${shown}, 3 B]`,
      `[resource ${shown}, 3 B]`,
      `[link ${shown} ${shown}]`,
    ])
  })

  it('prints structured content where there is no text', async () => {
    const { stdout } = await run(['read_file'], { result: { content: [], structuredContent: { a: 1 } } })
    expect(stdout).toBe('{\n  "a": 1\n}\n')
  })

  it('prints the whole answer with --json', async () => {
    const result = { ...text('done'), structuredContent: { a: 1 } }
    expect(JSON.parse((await run(['read_file', '--json'], { result })).stdout)).toEqual({ operationId: 'op1', result })
  })

  it('prints to standard error and ends with 1 when the tool says no', async () => {
    const result = { ...text('No such file.'), isError: true }
    expect(await run(['read_file'], { result })).toMatchObject({ code: 1, stdout: '', stderr: 'No such file.' })
    const { stderr } = await run(['read_file'], { result, terminal: { stderr: true } })
    expect(stderr).toBe('\u001b[31mNo such file.\u001b[39m\n')
  })

  it('answers a program on standard output when the tool says no, and ends with 1', async () => {
    const result = { ...text('No such file.'), isError: true }
    const { code, stdout, stderr } = await run(['read_file', '--json'], { result })
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ result: { isError: true } })
  })
})

describe('call: cut results', () => {
  const kept = { resultId: 'op1', totalBytes: 9, keptBytes: 9, nextOffset: 3 }
  const cut = text('abc', '[Cut at 3 of 9 bytes.]')
  function pages(reads: unknown[] = []): Partial<Control> {
    const readResult: Control['readResult'] = async input => {
      reads.push(input)
      const page = { text: 'abcdefghi'.slice(input.offset, input.offset + 3), offset: input.offset, totalBytes: 9 }
      return input.offset + 3 < 9 ? { ...page, nextOffset: input.offset + 3 } : page
    }
    return { readResult }
  }

  it('are read to their end when standard output is no terminal', async () => {
    const reads: unknown[] = []
    const { stdout, stderr } = await run(['read_file', '--agent', 'researcher'], {
      result: cut,
      kept,
      control: pages(reads),
    })
    expect({ stdout, stderr }).toEqual({ stdout: 'abcdefghi', stderr: '' })
    expect(reads).toEqual([0, 3, 6].map(offset => ({ agent: 'researcher', resultId: 'op1', offset })))
  })

  it('are read to their end on a terminal with --all', async () => {
    const { stdout } = await run(['read_file', '--all'], {
      result: cut,
      kept,
      control: pages(),
      terminal: { stdout: true },
    })
    expect(stdout).toBe('abcdefghi\n')
  })

  it('say on a terminal how to see the rest', async () => {
    const { stdout, stderr } = await run(['read_file'], {
      result: cut,
      kept,
      control: pages(),
      terminal: { stdout: true },
    })
    expect(stdout).toContain('abc\n')
    expect(stderr).toBe('Cut at 3 B of 9 B. To see the rest, call it again with --all, or into a file or a pager.\n')
  })

  it('say when not even the whole was kept', async () => {
    const { stderr } = await run(['read_file'], { result: cut, kept: { ...kept, totalBytes: 5_000 }, control: pages() })
    expect(stderr).toBe('Only 9 B of 5 kB were kept; the rest is gone.\n')
  })

  it('are not read for ever when a page leads nowhere', async () => {
    const stuck: Control['readResult'] = async ({ offset }) => ({
      text: 'x',
      offset,
      nextOffset: offset,
      totalBytes: 9,
    })
    expect((await run(['read_file'], { result: cut, kept, control: { readResult: stuck } })).stdout).toBe('x')
  })

  it('stay cut in the JSON answer, which says where the rest is', async () => {
    expect(JSON.parse((await run(['read_file', '--json'], { result: cut, kept })).stdout)).toEqual({
      operationId: 'op1',
      result: cut,
      kept,
    })
  })
})

describe('call: a call that waits', () => {
  const waiting = { status: 'waiting', operationId: 'op1', for: 'retry', nextAttemptAt: 0 } as const
  const answer = { operationId: 'op1', result: text('for agents'), waiting }

  it('is reported with its operation, and ends with a code of its own', async () => {
    const { code, stdout, stderr } = await run(['read_file'], {
      control: { call: async () => answer },
      from: 'up',
    })
    expect([code, stdout]).toEqual([14, ''])
    expect(stderr).toBe(
      [
        '"read_file" could not be done now. It is retried automatically, now. Do not call it again.',
        'See how it is: quartermaster operations show op1',
        'To have it tried now: quartermaster operations retry op1',
        '',
      ].join('\n'),
    )
  })

  it('is not retried automatically while no up runs, and says so', async () => {
    const { stderr } = await run(['read_file'], { control: { call: async () => answer }, from: 'process' })
    expect(stderr).toContain('It is retried automatically, once an `up` runs.')
  })

  it('is reported with what it waits for', async () => {
    const waitingFor = async (what: 'approval' | 'run') =>
      (await run(['read_file'], { control: { call: async () => ({ ...answer, waiting: { ...waiting, for: what } }) } }))
        .stderr
    expect(await waitingFor('approval')).toContain('"read_file" waits for a person to allow it.')
    expect(await waitingFor('run')).toContain('"read_file" is run now, or as soon as it can be, and has not ended.')
  })

  it('is given to a program as it is', async () => {
    const { code, stdout, stderr } = await run(['read_file', '--json'], { control: { call: async () => answer } })
    expect([code, JSON.parse(stdout), stderr]).toEqual([14, answer, ''])
  })
})

describe('call: --idempotency-key', () => {
  it('is passed on', async () => {
    const { calls } = await run(['read_file', '--idempotency-key', 'report-1'])
    expect(calls).toEqual([{ agent: 'default', tool: 'read_file', input: {}, idempotencyKey: 'report-1', waits: true }])
  })

  it.each(['', 'two words', 'x'.repeat(256)])('is no %j', async key => {
    const { code, calls, stderr } = await run(['read_file', '--idempotency-key', key])
    expect([code, calls]).toEqual([2, []])
    expect(stderr).toContain('1 to 255 characters')
  })
})
