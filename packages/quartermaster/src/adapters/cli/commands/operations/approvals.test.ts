import { describe, expect, it } from 'vitest'
import { AppError, type Control } from '../../../../contracts/index.ts'
import { factsOf, runApprovals, TERMINAL, waiting } from '../../../../testing/approvals-command.ts'

describe('approvals', () => {
  it('lists what waits, how heavy it is and for what resource, hidden characters shown', async () => {
    const { code, stdout, asked, stderr } = await runApprovals(['--agent', 'ada'])
    expect(code).toBe(0)
    expect(asked).toEqual([{ agent: 'ada' }])
    expect(stdout).toMatch(
      /^op_1 +ada +write_file +high +files\.write for "a\\u202eb\.txt", files\.delete +2 minutes ago +in 23 hours$/m,
    )
    expect(stdout).not.toContain('hunter2')
    expect(stderr).toContain('quartermaster approvals answer')
  })

  it('lists the same by that name', async () => {
    const { code, stdout, asked } = await runApprovals(['list', '--agent', 'ada'])
    expect({ code, asked, stdout }).toEqual({
      code: 0,
      asked: [{ agent: 'ada' }],
      stdout: (await runApprovals([])).stdout,
    })
  })

  it('says when nothing waits, and lists for programs', async () => {
    expect(await runApprovals([], { open: [] })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Nothing waits for you.\n',
    })
    const { stdout } = await runApprovals(['--json'])
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'op_1', asks: [{ scope: 'a\u202eb.txt' }, { grantable: 'once' }] }])
  })

  it('knows a mistyped command from its own', async () => {
    const { code, stderr } = await runApprovals(['alow', 'op_1'])
    expect(code).toBe(2)
    expect(stderr).toContain(`unknown command 'approvals alow'. Did you mean "allow"?`)
  })

  it('shows one whole: reasons, weights, resources, and its arguments with nothing hidden and nothing masked', async () => {
    const { code, stdout } = await runApprovals(['show', 'op_1'])
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
        'Asked 2 minutes ago; expires in 23 hours. (op_1)',
        '',
      ].join('\n'),
    )
  })

  it('shows one for programs as JSON that parses to the same, without a raw hidden character', async () => {
    const { stdout } = await runApprovals(['show', 'op_1', '--json'])
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
    const { stdout } = await runApprovals(['show', 'op_1'], { open: [rest] })
    expect(stdout).toContain('Its arguments are forgotten.\n')
    expect(stdout).toContain('It was denied by owner ')
  })

  it('says where to look for one that does not exist', async () => {
    const { code, stderr } = await runApprovals(['show', 'op_2'])
    expect(code).toBe(4)
    expect(stderr).toContain('Next: See what waits for you: quartermaster approvals\n')
  })

  it('colours the weight', async () => {
    const { stdout } = await runApprovals(['show', 'op_1'], { env: { FORCE_COLOR: '1' } })
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
      line: 'is allowed, and what is like it for as long as an answer is valid.',
    },
  ])('answers with $argv, without a terminal and without --yes', async ({ argv, answer, line }) => {
    const { code, answers, stdout, questions } = await runApprovals(['allow', 'op_1', ...argv])
    expect({ code, questions }).toEqual({ code: 0, questions: [] })
    expect(answers).toEqual([{ id: 'op_1', decision: 'allow', ...answer }])
    expect(stdout).toContain(`✓ "write_file" of ada ${line}`)
  })

  it('shows it first on a terminal, and asks', async () => {
    const { code, answers, questions, stderr } = await runApprovals(['allow', 'op_1'], {
      terminal: TERMINAL,
      answers: ['y'],
    })
    expect({ code, questions }).toEqual({ code: 0, questions: ['Allow once? [y/N] '] })
    expect(stderr).toContain('"password": "hunter2"')
    expect(answers).toHaveLength(1)
  })

  it.each(['', 'n', 'always'])('allows nothing on the answer %j', async word => {
    const { code, answers, stderr } = await runApprovals(['allow', 'op_1'], { terminal: TERMINAL, answers: [word] })
    expect({ code, answers }).toEqual({ code: 1, answers: [] })
    expect(stderr).toContain('Nothing was allowed. It still waits.')
  })

  it('can be written approve', async () => {
    const { answers } = await runApprovals(['approve', 'op_1', '--once'])
    expect(answers).toEqual([{ id: 'op_1', decision: 'allow', lasting: 'once' }])
  })

  it('does not ask with --yes', async () => {
    const { answers, questions } = await runApprovals(['allow', 'op_1', '--yes'], { terminal: TERMINAL })
    expect([answers.length, questions.length]).toEqual([1, 0])
  })

  it.each([
    [{ state: 'succeeded' }, 'It is done.'],
    [{ state: 'queued' }, 'It could not be done now and is tried again once an `up` runs.'],
    [{ state: 'failed' }, 'It was run, and is failed.'],
  ] as const)('says how it went where no up runs: %o', async (more, line) => {
    const answerApproval: Control['answerApproval'] = async ({ id }) => factsOf(id, more)
    const { code, stdout } = await runApprovals(['allow', 'op_1', '--yes'], {
      from: 'process',
      control: { answerApproval },
    })
    expect(code).toBe(0)
    expect(stdout).toContain(line)
  })

  it.each([
    ['succeeded', 'An earlier run had done it already.'],
    ['unknown', 'An earlier run may have done it: quartermaster operations verify op_1.'],
  ] as const)('does not leave it at a no where what was asked for is %s', async (state, line) => {
    const answerApproval: Control['answerApproval'] = async ({ id }) => factsOf(id, { state })
    const { stdout } = await runApprovals(['deny', 'op_1'], { control: { answerApproval } })
    expect(stdout).toContain(`is denied, this once. ${line}`)
  })

  it('tells a program the operation', async () => {
    const { stdout } = await runApprovals(['allow', 'op_1', '--yes', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ id: 'op_1', state: 'queued' })
  })

  it('fails when another person answered first', async () => {
    const answerApproval = () => Promise.reject(new AppError('REQUEST_REFUSED', 'It was denied by owner.'))
    const { code, stderr } = await runApprovals(['allow', 'op_1', '--yes'], { control: { answerApproval } })
    expect(code).toBe(8)
    expect(stderr).toContain('It was denied by owner.')
  })

  it.each([
    { argv: ['--for', '10m', '--always'], why: '--for and --always contradict' },
    { argv: ['--once', '--always'], why: '--once and --always contradict' },
    { argv: ['--for', 'long'], why: 'Write a number and a unit' },
  ])('cannot make sense of $argv', async ({ argv, why }) => {
    const { code, answers, stderr } = await runApprovals(['allow', 'op_1', ...argv])
    expect({ code, answers }).toEqual({ code: 2, answers: [] })
    expect(stderr).toContain(why)
  })
})

describe('approvals deny', () => {
  it('answers without a question, this once or for a time', async () => {
    const { code, answers, questions, stdout } = await runApprovals(['deny', 'op_1'], { terminal: TERMINAL })
    expect({ code, questions }).toEqual({ code: 0, questions: [] })
    expect(answers).toEqual([{ id: 'op_1', decision: 'deny', lasting: 'once' }])
    expect(stdout).toBe('✗ "write_file" of ada is denied, this once. (op_1)\n')
    expect((await runApprovals(['deny', 'op_1', '--once'])).answers).toEqual(answers)
    expect((await runApprovals(['deny', 'op_1', '--for', '90s'])).answers).toEqual([
      { id: 'op_1', decision: 'deny', lasting: 'time', minutes: 1.5 },
    ])
  })
})
