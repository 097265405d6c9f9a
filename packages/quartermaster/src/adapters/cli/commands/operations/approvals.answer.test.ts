import { describe, expect, it } from 'vitest'
import { AppError, type ApprovalFacts, type Control } from '../../../../contracts/index.ts'
import { factsOf, LASTING, runApprovals, TERMINAL, waiting } from '../../../../testing/approvals-command.ts'

describe('approvals answer', () => {
  const many = ['op_1', 'op_2', 'op_3', 'op_4', 'op_5', 'op_6'].map(id => waiting(id, { asks: LASTING }))

  it('goes through all that waits, shows each and takes every kind of answer', async () => {
    const words = ['y', '10m', 'a', 'n', 'N 1h', 's']
    const { code, answers, stderr, stdout } = await runApprovals(['answer'], {
      terminal: TERMINAL,
      answers: words,
      open: many,
    })
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
    const { answers, questions, stderr } = await runApprovals(['answer'], {
      terminal: TERMINAL,
      answers: words,
      open: many,
    })
    expect([answers, questions.length]).toEqual([[], 4])
    expect(stderr).toContain('Please answer with one of these.')
  })

  it('offers nothing that lasts where it may be allowed once only', async () => {
    const { questions } = await runApprovals(['answer'], { terminal: TERMINAL, answers: ['q'] })
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
    const { code, stderr } = await runApprovals(['answer'], {
      terminal: TERMINAL,
      answers: ['y', 'y'],
      open: [first, { ...second, state: 'allowed' }, third],
      control: { answerApproval },
    })
    expect({ code, answered }).toEqual({ code: 0, answered: ['op_1', 'op_3'] })
    expect(stderr).toContain('It was allowed by owner.')
  })

  it('needs a terminal', async () => {
    const { code, stderr } = await runApprovals(['answer'])
    expect(code).toBe(2)
    expect(stderr).toContain('without a terminal no person can be asked')
  })

  it('is only about one agent where that is said, before or after', async () => {
    for (const argv of [
      ['answer', '--agent', 'ada'],
      ['--agent', 'ada', 'answer'],
    ]) {
      const { asked, stderr } = await runApprovals(argv, { terminal: TERMINAL, open: [] })
      expect(asked).toEqual([{ agent: 'ada' }])
      expect(stderr).toContain('Nothing waits for you.')
    }
  })
})
