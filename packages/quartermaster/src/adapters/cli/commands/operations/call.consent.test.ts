import { describe, expect, it } from 'vitest'
import { AppError, type Control, type ControlInput } from '../../../../contracts/index.ts'
import { READ_FILE_DETAIL } from '../../../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const OPERATIONS = [
  { name: 'files.write', reason: 'Writes a file in a folder of yours.', weight: 'moderate' },
  { name: 'files.delete', reason: 'What was there is gone.', weight: 'high' },
]
const TERMINAL = { stdin: true, stdout: true, stderr: true }

async function run(argv: string[], { details, ...options }: CliHostOptions & { details?: object } = {}) {
  const calls: ControlInput<'call'>[] = []
  const call: Control['call'] = async input => {
    calls.push(input)
    if (input.consented) return { operationId: 'op1', result: { content: [{ type: 'text', text: 'written' }] } }
    throw new AppError('CONSENT_REQUIRED', 'Needs consent.', {
      details: { tool: 'write_file', digest: 'd1', operations: OPERATIONS, ...details },
    })
  }
  const { host, seen } = createFakeCliHost({
    ...options,
    control: { call, tool: async () => READ_FILE_DETAIL, ...options.control },
    env: { NO_COLOR: '1' },
  })
  return { code: await runCli(['call', 'write_file', ...argv], host), calls, ...seen }
}

describe('call: consent at the terminal', () => {
  it('shows operations, weights, reasons and the whole arguments, and asks', async () => {
    const input = { path: 'a b.txt', text: 'one\n two\u200b\u202e"\t·' }
    const { stdout, stderr, questions } = await run([JSON.stringify(input)], { terminal: TERMINAL, answers: ['n'] })
    expect(questions).toEqual(['Allow once? [y/N] '])
    expect(stdout).toBe('')
    expect(stderr).toContain(
      [
        'write_file, called as default, needs your consent:',
        '  files.write (moderate)',
        '    Writes a file in a folder of yours.',
        '  files.delete (high)',
        '    What was there is gone.',
        'Its arguments, exactly (· is a space, escapes are characters that cannot be seen):',
        '  {',
        '    "path": "a·b.txt",',
        '    "text": "one\\n',
        '    │ ·two\\u200b\\u202e\\"\\t\\u00b7"',
        '  }',
      ].join('\n'),
    )
  })

  it.each(['y', 'Y', ' yes '])(
    'calls again with the answer %j, for exactly these operations and this digest',
    async answer => {
      const { code, calls, stdout } = await run(['{"path":"a"}', '--timeout', '5s'], {
        terminal: TERMINAL,
        answers: [answer],
      })
      const request = { agent: 'default', tool: 'write_file', input: { path: 'a' }, timeoutMs: 5_000 }
      expect(calls).toEqual([
        request,
        { ...request, consented: { operations: ['files.write', 'files.delete'], digest: 'd1' } },
      ])
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'written\n' })
    },
  )

  it.each(['', 'n', 'yeah no', 'yy'])('runs nothing on the answer %j', async answer => {
    const { code, calls, stderr } = await run([], { terminal: TERMINAL, answers: [answer] })
    expect({ code, calls: calls.length }).toEqual({ code: 8, calls: 1 })
    expect(stderr).toContain('You did not allow it, so "write_file" was not run.')
  })

  it.each([
    { why: 'standard input is no terminal', terminal: { stdin: false, stderr: true }, argv: [] },
    { why: 'nobody would see the question', terminal: { stdin: true, stderr: false }, argv: [] },
    { why: 'the arguments came through standard input', terminal: TERMINAL, argv: ['-'] },
  ])('fails with the next step when $why', async ({ terminal, argv }) => {
    const { code, questions, stderr } = await run(argv, { terminal, stdin: '{}' })
    expect({ code, questions }).toEqual({ code: 7, questions: [] })
    expect(stderr).toContain(
      'Error: "write_file" needs a person\'s consent.\n  files.write (moderate): Writes a file in a folder of yours.',
    )
    expect(stderr).toContain(
      'Next: Run it at a terminal to be asked, or allow it permanently: quartermaster grant default files --consent files.write files.delete\n',
    )
  })

  it.each([
    { terminal: TERMINAL, argv: [], waits: undefined },
    { terminal: {}, argv: [], waits: true },
    { terminal: TERMINAL, argv: ['-'], waits: true },
  ])(
    'leaves the approval to another person only where no terminal can ask: $argv',
    async ({ terminal, argv, waits }) => {
      const { calls } = await run(argv, { terminal, stdin: '{}' })
      expect(calls.map(call => call.waits)).toEqual([waits])
    },
  )

  it('says how to decide about one that waits', async () => {
    const waiting = { status: 'waiting', operationId: 'op_1', for: 'approval' } as const
    const call: Control['call'] = async () => ({ operationId: 'op_1', result: { content: [] }, waiting })
    const { code, stdout, stderr } = await run(['{}'], { control: { call } })
    expect({ code, stdout }).toEqual({ code: 14, stdout: '' })
    expect(stderr).toBe(
      '"write_file" waits for a person to allow it. Do not call it again.\n' +
        'See how it is: quartermaster operations show op_1\n' +
        'To decide: quartermaster approvals show op_1, then allow or deny\n',
    )
  })

  it('names the capability of the nested call that asks, which no terminal can be asked about', async () => {
    const asked: string[] = []
    const tool: Control['tool'] = async ({ name }) => {
      asked.push(name)
      return { ...READ_FILE_DETAIL, capability: 'demolition' }
    }
    const { stderr } = await run(['{}'], {
      details: { tool: 'delete_everything', operations: OPERATIONS.slice(1) },
      control: { tool },
    })
    expect(asked).toEqual(['delete_everything'])
    expect(stderr).toContain(
      'Next: Allow it permanently: quartermaster grant default demolition --consent files.delete\n',
    )
  })

  it('says how to allow it although the tool cannot be looked up', async () => {
    const tool: Control['tool'] = () => Promise.reject(new AppError('STOPPING', 'Not now.'))
    const { code, stderr } = await run(['{}'], { control: { tool } })
    expect(code).toBe(7)
    expect(stderr).toContain('quartermaster grant default CAPABILITY --consent files.write files.delete\n')
  })

  it('does not ask about a nested call whose arguments it cannot show', async () => {
    const { code, questions } = await run([], {
      terminal: TERMINAL,
      answers: ['y'],
      details: { tool: 'delete_everything' },
    })
    expect({ code, questions }).toEqual({ code: 7, questions: [] })
  })

  it('is cancelled when the person leaves at the question', async () => {
    const call = () =>
      Promise.reject(
        new AppError('CONSENT_REQUIRED', 'No.', { details: { tool: 'w', digest: 'd', operations: OPERATIONS } }),
      )
    const { host, seen } = createFakeCliHost({ control: { call }, terminal: TERMINAL })
    const question = () => Promise.reject(Object.assign(new Error('Aborted with Ctrl+C'), { name: 'AbortError' }))
    const code = await runCli(['call', 'w'], { ...host, io: { ...host.io, stdin: { ...host.io.stdin, question } } })
    expect(code).toBe(130)
    expect(seen.stderr).toContain('Cancelled.')
    expect(seen.stderr).not.toContain('Ctrl+C')
  })

  it('can be answered while a program reads the result', async () => {
    const { code, stdout } = await run(['--json'], { terminal: { stdin: true, stderr: true }, answers: ['y'] })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ operationId: 'op1' })
  })
})
