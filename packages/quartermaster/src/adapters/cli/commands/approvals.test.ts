import { describe, expect, it } from 'vitest'
import {
  AppError,
  type ApprovalFacts,
  type Control,
  type ControlInput,
  type OperationFacts,
} from '../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../testing/cli-host.ts'
import { runCli } from '../index.ts'

const TERMINAL = { stdin: true, stdout: true, stderr: true }
const HOUR = 3_600_000

/** A call that waits. The clock of the host begins at this time. */
function waiting(id: string, more: Partial<ApprovalFacts> = {}): ApprovalFacts {
  const { host } = createFakeCliHost()
  const now = host.clock.now()
  return {
    id,
    agent: 'ada',
    tool: 'write_file',
    asks: [
      {
        operation: 'files.write',
        reason: 'Writes a file in a folder of yours.',
        weight: 'moderate',
        scope: 'a\u202eb.txt',
        grantable: 'any',
      },
      { operation: 'files.delete', reason: 'What was there is gone.', weight: 'high', scope: null, grantable: 'once' },
    ],
    createdAt: now - 2 * 60_000,
    expiresAt: now + 23 * HOUR,
    state: 'open',
    digest: 'd1',
    arguments: { path: 'a\u202eb.txt', password: 'hunter2', text: 'one \n\ttwo\u200b' },
    ...more,
  }
}

const LASTING: ApprovalFacts['asks'] = [
  { operation: 'files.write', reason: 'W.', weight: 'low', scope: null, grantable: 'any' },
]

function factsOf(id: string, more: Partial<OperationFacts> = {}): OperationFacts {
  return {
    id,
    agent: 'ada',
    tool: 'write_file',
    mutates: true,
    state: 'queued',
    createdAt: 0,
    updatedAt: 0,
    digest: 'd1',
    definitionHash: 'h',
    attempts: 0,
    ...more,
  }
}

interface RunOptions extends CliHostOptions {
  open?: ApprovalFacts[]
}

async function run(argv: string[], { open = [waiting('op_1')], ...options }: RunOptions = {}) {
  const answers: ControlInput<'answerApproval'>[] = []
  const asked: ControlInput<'approvals'>[] = []
  const find = (id: string) => {
    const found = open.find(one => one.id === id)
    if (!found) throw new AppError('NAME_UNKNOWN', `Nobody asked for consent to "${id}".`)
    return found
  }
  const control: Partial<Control> = {
    approvals: async filter => {
      asked.push(filter)
      return open.map(({ id, agent, tool, asks, createdAt, expiresAt }) => ({
        id,
        agent,
        tool,
        asks,
        createdAt,
        expiresAt,
      }))
    },
    approval: async ({ id }) => find(id),
    answerApproval: async answer => {
      find(answer.id)
      answers.push(answer)
      return factsOf(answer.id, answer.decision === 'deny' ? { state: 'denied' } : {})
    },
    ...options.control,
  }
  const { host, seen } = createFakeCliHost({ env: { NO_COLOR: '1' }, from: 'up', ...options, control })
  return { code: await runCli(['approvals', ...argv], host), answers, asked, ...seen }
}

describe('approvals', () => {
  it('lists what waits, how heavy it is and for what resource, hidden characters shown', async () => {
    const { code, stdout, asked, stderr } = await run(['--agent', 'ada'])
    expect(code).toBe(0)
    expect(asked).toEqual([{ agent: 'ada' }])
    expect(stdout).toMatch(
      /^op_1 +ada +write_file +high +files\.write for "a\\u202eb\.txt", files\.delete +2 minutes ago +in 23 hours$/m,
    )
    expect(stdout).not.toContain('hunter2')
    expect(stderr).toContain('quartermaster approvals answer')
  })

  it('lists the same by that name', async () => {
    const { code, stdout, asked } = await run(['list', '--agent', 'ada'])
    expect({ code, asked, stdout }).toEqual({ code: 0, asked: [{ agent: 'ada' }], stdout: (await run([])).stdout })
  })

  it('says when nothing waits, and lists for programs', async () => {
    expect(await run([], { open: [] })).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing waits for you.\n' })
    const { stdout } = await run(['--json'])
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'op_1', asks: [{ scope: 'a\u202eb.txt' }, { grantable: 'once' }] }])
  })

  it('knows a mistyped command from its own', async () => {
    const { code, stderr } = await run(['alow', 'op_1'])
    expect(code).toBe(2)
    expect(stderr).toContain(`unknown command 'approvals alow'. Did you mean "allow"?`)
  })

  it('shows one whole: reasons, weights, resources, and its arguments with nothing hidden and nothing masked', async () => {
    const { code, stdout } = await run(['show', 'op_1'])
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'write_file, called by ada, asks for your consent:',
        '  files.write (moderate) for "a\\u202eb.txt"',
        '    Writes a file in a folder of yours.',
        '  files.delete (high), for this call only',
        '    What was there is gone.',
        'Its arguments, exactly (· is a space, escapes are characters that cannot be seen):',
        '  {',
        '    "path": "a\\u202eb.txt",',
        '    "password": "hunter2",',
        '    "text": "one·\\n',
        '    │ \\ttwo\\u200b"',
        '  }',
        'Asked 2 minutes ago; given up in 23 hours. (op_1)',
        '',
      ].join('\n'),
    )
  })

  it('shows one for programs as JSON that parses to the same, without a raw hidden character', async () => {
    const { stdout } = await run(['show', 'op_1', '--json'])
    expect(JSON.parse(stdout)).toEqual(waiting('op_1'))
    expect(stdout).not.toMatch(/[\u202e\u200b]/)
  })

  it('shows who answered one that is over, and that its arguments are gone', async () => {
    const { arguments: _, ...rest } = waiting('op_1', {
      state: 'denied',
      answeredBy: 'owner',
      answeredAt: 0,
      lasting: 'time',
    })
    const { stdout } = await run(['show', 'op_1'], { open: [rest] })
    expect(stdout).toContain('Its arguments are forgotten.\n')
    expect(stdout).toContain('It was denied by owner ')
  })

  it('says where to look for one that does not exist', async () => {
    const { code, stderr } = await run(['show', 'op_2'])
    expect(code).toBe(4)
    expect(stderr).toContain('Next: See what waits for you: quartermaster approvals\n')
  })

  it('colours the weight', async () => {
    const { stdout } = await run(['show', 'op_1'], { env: { FORCE_COLOR: '1' } })
    expect(stdout).toContain('(\u001b[31mhigh\u001b[39m)')
    expect(stdout).toContain('(\u001b[33mmoderate\u001b[39m)')
  })
})

describe('approvals allow', () => {
  it.each([
    { argv: [], answer: { lasting: 'once' }, line: 'is allowed, this once. It is run now.' },
    {
      argv: ['--for', '10m'],
      answer: { lasting: 'time', minutes: 10 },
      line: 'is allowed, and what is like it for 10 minutes. It is run now.',
    },
    { argv: ['--once'], answer: { lasting: 'once' }, line: 'is allowed, this once. It is run now.' },
    {
      argv: ['--always'],
      answer: { lasting: 'always' },
      line: 'is allowed, and what is like it for as long as an answer counts.',
    },
  ])('answers with $argv', async ({ argv, answer, line }) => {
    const { code, answers, stdout, questions } = await run(['allow', 'op_1', ...argv, '--yes'])
    expect({ code, questions }).toEqual({ code: 0, questions: [] })
    expect(answers).toEqual([{ id: 'op_1', decision: 'allow', ...answer }])
    expect(stdout).toContain(`✓ "write_file" of ada ${line}`)
  })

  it('shows it first on a terminal, and asks', async () => {
    const { code, answers, questions, stderr } = await run(['allow', 'op_1'], { terminal: TERMINAL, answers: ['y'] })
    expect({ code, questions }).toEqual({ code: 0, questions: ['Allow once? [y/N] '] })
    expect(stderr).toContain('"password": "hunter2"')
    expect(answers).toHaveLength(1)
  })

  it.each(['', 'n', 'always'])('allows nothing on the answer %j', async word => {
    const { code, answers, stderr } = await run(['allow', 'op_1'], { terminal: TERMINAL, answers: [word] })
    expect({ code, answers }).toEqual({ code: 1, answers: [] })
    expect(stderr).toContain('Nothing was allowed. It still waits.')
  })

  it('allows nothing that nobody has seen: without a terminal it wants --yes', async () => {
    const { code, answers, stderr } = await run(['allow', 'op_1'])
    expect({ code, answers }).toEqual({ code: 2, answers: [] })
    expect(stderr).toContain('quartermaster approvals show op_1')
    expect(stderr).toContain('--yes')
  })

  it('can be written approve', async () => {
    const { answers } = await run(['approve', 'op_1', '--once', '--yes'])
    expect(answers).toEqual([{ id: 'op_1', decision: 'allow', lasting: 'once' }])
  })

  it('does not ask with --yes', async () => {
    const { answers, questions } = await run(['allow', 'op_1', '--yes'], { terminal: TERMINAL })
    expect([answers.length, questions.length]).toEqual([1, 0])
  })

  it.each([
    [{ state: 'succeeded' }, 'It is done.'],
    [{ state: 'queued' }, 'It could not be done now and is tried again once an `up` runs.'],
    [{ state: 'failed' }, 'It was run, and is failed.'],
  ] as const)('says how it went where no up runs: %o', async (more, line) => {
    const answerApproval: Control['answerApproval'] = async ({ id }) => factsOf(id, more)
    const { code, stdout } = await run(['allow', 'op_1', '--yes'], { from: 'process', control: { answerApproval } })
    expect(code).toBe(0)
    expect(stdout).toContain(line)
  })

  it.each([
    ['succeeded', 'An earlier run had done it already.'],
    ['unknown', 'An earlier run may have done it: quartermaster operations verify op_1.'],
  ] as const)('does not leave it at a no where what was asked for is %s', async (state, line) => {
    const answerApproval: Control['answerApproval'] = async ({ id }) => factsOf(id, { state })
    const { stdout } = await run(['deny', 'op_1'], { control: { answerApproval } })
    expect(stdout).toContain(`is denied, this once. ${line}`)
  })

  it('tells a program the operation', async () => {
    const { stdout } = await run(['allow', 'op_1', '--yes', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ id: 'op_1', state: 'queued' })
  })

  it('fails when somebody else was first', async () => {
    const answerApproval = () => Promise.reject(new AppError('REQUEST_REFUSED', 'It was denied by owner.'))
    const { code, stderr } = await run(['allow', 'op_1', '--yes'], { control: { answerApproval } })
    expect(code).toBe(8)
    expect(stderr).toContain('It was denied by owner.')
  })

  it.each([
    { argv: ['--for', '10m', '--always'], why: '--for and --always contradict' },
    { argv: ['--once', '--always'], why: '--once and --always contradict' },
    { argv: ['--for', 'long'], why: 'Write a number and a unit' },
  ])('cannot make sense of $argv', async ({ argv, why }) => {
    const { code, answers, stderr } = await run(['allow', 'op_1', ...argv])
    expect({ code, answers }).toEqual({ code: 2, answers: [] })
    expect(stderr).toContain(why)
  })
})

describe('approvals deny', () => {
  it('answers without a question, this once or for a time', async () => {
    const { code, answers, questions, stdout } = await run(['deny', 'op_1'], { terminal: TERMINAL })
    expect({ code, questions }).toEqual({ code: 0, questions: [] })
    expect(answers).toEqual([{ id: 'op_1', decision: 'deny', lasting: 'once' }])
    expect(stdout).toBe('✗ "write_file" of ada is denied, this once. (op_1)\n')
    expect((await run(['deny', 'op_1', '--once'])).answers).toEqual(answers)
    expect((await run(['deny', 'op_1', '--for', '90s'])).answers).toEqual([
      { id: 'op_1', decision: 'deny', lasting: 'time', minutes: 1.5 },
    ])
  })
})

describe('approvals --watch', () => {
  const at = { at: 1, id: 'op_1', tool: 'write_file', agent: 'ada' }

  async function watched(argv: string[], more: RunOptions = {}) {
    const asks = waiting('op_1').asks
    const open = [waiting('op_1')]
    const events: Control['events'] = async (_, { onEvent } = {}) => {
      onEvent?.({ name: 'events.started', at: 0 })
      onEvent?.({ ...at, name: 'approval.opened', id: 'op_2' })
      onEvent?.({ ...at, name: 'approval.answered', state: 'denied', by: { name: 'eve\u202e', via: 'person' } })
      onEvent?.({ ...at, name: 'approval.closed', id: 'op_2', agent: 'bob' })
      onEvent?.({ ...at, name: 'operation.changed', to: 'queued' })
      return {}
    }
    return { asks, ...(await run(argv, { open, control: { events }, ...more })) }
  }

  it('shows what waits and what is asked, each once, and what is answered, as it comes', async () => {
    const { code, stdout, stderr } = await watched(['--watch'])
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: [
        'asks  write_file of ada (high): files.write for "a\\u202eb.txt", files.delete (op_1)',
        'denied  write_file of ada, by eve\\u{202e} (op_1)',
        'over  write_file of bob; nobody answered (op_2)',
        '',
      ].join('\n'),
      stderr: 'The "up" has ended.\n',
    })
  })

  it('shows what is asked again after it was answered', async () => {
    const events: Control['events'] = async (_, { onEvent } = {}) => {
      onEvent?.({ name: 'events.started', at: 0 })
      onEvent?.({ ...at, name: 'approval.answered', state: 'allowed', by: { name: 'eve', via: 'person' } })
      onEvent?.({ ...at, name: 'approval.opened' })
      return {}
    }
    const { stdout } = await watched(['--watch'], { control: { events } })
    expect(stdout.split('\n').map(line => line.slice(0, 7).trim())).toEqual(['asks  w', 'allowed', 'asks  w', ''])
  })

  it('tells a program line by line, without any arguments, and of one agent where that is said', async () => {
    const { stdout, asks } = await watched(['list', '--watch', '--agent', 'ada', '--json'])
    const lines = stdout.trim().split('\n')
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { name: 'approval.opened', id: 'op_1', asks },
      { name: 'approval.answered', id: 'op_1', state: 'denied' },
    ])
    expect(stdout).not.toContain('hunter2')
  })

  it('needs an up, and fails when what waits cannot be had', async () => {
    expect(await watched(['--watch'], { from: 'process' })).toMatchObject({ code: 2 })
    const events: Control['events'] = (_, { onEvent } = {}) => {
      onEvent?.({ name: 'events.started', at: 0 })
      return new Promise(() => {})
    }
    const approvals = () => Promise.reject(new AppError('STORE_UNAVAILABLE', 'The disk is gone.'))
    const { code, stderr } = await watched(['--watch'], { control: { events, approvals } })
    expect(code).not.toBe(0)
    expect(stderr).toContain('The disk is gone.')
  })
})

describe('approvals answer', () => {
  const many = ['op_1', 'op_2', 'op_3', 'op_4', 'op_5', 'op_6'].map(id => waiting(id, { asks: LASTING }))

  it('goes through all that waits, shows each and takes every kind of answer', async () => {
    const words = ['y', '10m', 'a', 'n', 'N 1h', 's']
    const { code, answers, stderr, stdout } = await run(['answer'], { terminal: TERMINAL, answers: words, open: many })
    expect(code).toBe(0)
    expect(stderr).toContain('6 calls wait for you.')
    expect(stderr.match(/hunter2/g)).toHaveLength(6)
    expect(answers).toEqual([
      { id: 'op_1', decision: 'allow', lasting: 'once' },
      { id: 'op_2', decision: 'allow', lasting: 'time', minutes: 10 },
      { id: 'op_3', decision: 'allow', lasting: 'always' },
      { id: 'op_4', decision: 'deny', lasting: 'once' },
      { id: 'op_5', decision: 'deny', lasting: 'time', minutes: 60 },
    ])
    expect(stdout.split('\n')).toHaveLength(6)
  })

  it('asks again when it cannot understand, takes silence for no decision, and stops when told to', async () => {
    const words = ['perhaps', 'constructor', '', 'q']
    const { answers, questions, stderr } = await run(['answer'], { terminal: TERMINAL, answers: words, open: many })
    expect([answers, questions.length]).toEqual([[], 4])
    expect(stderr).toContain('Please answer with one of these.')
  })

  it('offers nothing that lasts where it may be allowed once only', async () => {
    const { questions } = await run(['answer'], { terminal: TERMINAL, answers: ['q'] })
    expect(questions).toEqual(['Allow? [y]es, once; [n]o; [s]kip; [q]uit: '])
  })

  it('leaves out what others have answered meanwhile, and goes on when they were faster', async () => {
    const [first, second, third] = many as [ApprovalFacts, ApprovalFacts, ApprovalFacts]
    const answered: string[] = []
    const answerApproval: Control['answerApproval'] = async ({ id }) => {
      answered.push(id)
      if (id === first.id) throw new AppError('REQUEST_REFUSED', 'It was allowed by owner.')
      return factsOf(id)
    }
    const { code, stderr } = await run(['answer'], {
      terminal: TERMINAL,
      answers: ['y', 'y'],
      open: [first, { ...second, state: 'allowed' }, third],
      control: { answerApproval },
    })
    expect({ code, answered }).toEqual({ code: 0, answered: ['op_1', 'op_3'] })
    expect(stderr).toContain('It was allowed by owner.')
  })

  it('needs a terminal', async () => {
    const { code, stderr } = await run(['answer'])
    expect(code).toBe(2)
    expect(stderr).toContain('nobody can be asked without a terminal')
  })

  it('is only about one agent where that is said, before or after', async () => {
    for (const argv of [
      ['answer', '--agent', 'ada'],
      ['--agent', 'ada', 'answer'],
    ]) {
      const { asked, stderr } = await run(argv, { terminal: TERMINAL, open: [] })
      expect(asked).toEqual([{ agent: 'ada' }])
      expect(stderr).toContain('Nothing waits for you.')
    }
  })
})
