import { describe, expect, it } from 'vitest'
import { AppError, type Control, type OperationFacts, type OperationVerification } from '../../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const NOW = 1_700_000_000_000

const FACTS: OperationFacts = {
  id: 'op_1',
  agent: 'ada',
  tool: 'send_mail',
  mutates: true,
  state: 'unknown',
  outcome: 'unknown',
  code: 'OUTCOME_UNKNOWN',
  createdAt: NOW - 120_000,
  updatedAt: NOW,
  endedAt: NOW,
  digest: 'ab'.repeat(32),
  definitionHash: 'd1',
  attempts: 1,
  error: { code: 'OUTCOME_UNKNOWN', kind: 'unavailable', retry: 'verifyFirst', message: 'Look first.' },
  keepUntil: NOW + 1_000,
}

/** What an operation that has not ended is without. */
const OPEN = { state: 'queued', outcome: undefined, endedAt: undefined, keepUntil: undefined } as const

async function run(args: string[], control: Partial<Control> = {}, terminal: CliHostOptions['terminal'] = {}) {
  const { host, seen } = createFakeCliHost({ control, terminal, from: 'up' })
  const code = await runCli(['operations', ...args], host)
  return { code, ...seen }
}

describe('operations', () => {
  it('are listed, newest first, with the way to more', async () => {
    const asked: unknown[] = []
    const operations: Control['operations'] = async filter => {
      asked.push(filter)
      return { operations: [FACTS], nextCursor: '12.op_1' }
    }
    const listed = await run(['list', '--agent', 'ada', '--state', 'unknown', '--limit', '1'], { operations })
    expect(listed).toMatchObject({
      code: 0,
      stdout:
        'ID    AGENT  TOOL       STATE    BEGUN          ERROR\nop_1  ada    send_mail  unknown  2 minutes ago  OUTCOME_UNKNOWN\n',
      stderr: 'More: the same with --cursor 12.op_1\n',
    })
    expect(asked).toEqual([{ agent: 'ada', state: 'unknown', limit: 1 }])
    const json = await run(['list', '--cursor', '12.op_1', '--json'], { operations })
    expect(JSON.parse(json.stdout)).toMatchObject({ operations: [{ id: 'op_1' }], nextCursor: '12.op_1' })
    expect(asked[1]).toEqual({ limit: 50, cursor: '12.op_1' })
  })

  it('say so when there are none', async () => {
    const none = await run(['list'], { operations: async () => ({ operations: [] }) })
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'There are none.\n' })
  })

  it('are shown whole by their id', async () => {
    const running: OperationFacts = { ...FACTS, progress: 'half', arguments: { to: '•••', text: '•••' } }
    const shown = await run(['show', 'op_1'], { operation: async () => running })
    expect(shown.stdout).toContain('Error           OUTCOME_UNKNOWN: Look first.\n')
    expect(shown.stdout).toContain('Arguments       to=••• text=•••\n')
    expect(shown.stdout).toContain('Begun           2023-11-14T22:11:20.000Z\n')
    const content = [{ type: 'text', text: 'Sent as 7.\n\u001b[2JBye.' }]
    const unfit = { ...FACTS, error: { ...FACTS.error, details: { content } } } as OperationFacts
    const said = await run(['show', 'op_1'], { operation: async () => unfit })
    expect(said.stdout).toMatch(/\nIt said:\n {2}Sent as 7\.\n {2}\S+\[2JBye\.\n$/)
    expect(said.stdout).not.toContain('\u001b')
    const json = await run(['show', 'op_1', '--json'], { operation: async () => FACTS })
    expect(JSON.parse(json.stdout)).toEqual(FACTS)
  })

  it('are shown with a long result cut on a terminal, and whole elsewhere', async () => {
    const text = '🙂'.repeat(65_536)
    const operation: Control['operation'] = async () => ({ ...FACTS, result: { content: [{ type: 'text', text }] } })
    const onTerminal = await run(['show', 'op_1'], { operation }, { stdout: true })
    expect(onTerminal.stdout.length).toBeLessThan(5_000)
    expect(onTerminal.stdout).toContain('Kept until')
    expect(onTerminal.stdout).toMatch(/🙂…\n$/)
    expect(onTerminal.stderr).toMatch(/cut at 4 kB of 262 kB.*operations show op_1 --json/)
    const piped = await run(['show', 'op_1'], { operation })
    expect([piped.stdout.includes(text), piped.stderr]).toEqual([true, ''])
    const json = await run(['show', 'op_1', '--json'], { operation }, { stdout: true })
    expect(JSON.parse(json.stdout)).toMatchObject({ result: { content: [{ text }] } })
    const unfit = { ...FACTS, error: { ...FACTS.error, details: { content: [{ type: 'text', text }] } } }
    const said = await run(['show', 'op_1'], { operation: async () => unfit as OperationFacts }, { stdout: true })
    expect(said.stdout.length).toBeLessThan(5_000)
    expect(said.stderr).toMatch(/^What it said is cut at 4 kB of 262 kB\. .*operations show op_1 --json/)
  })

  it('are listed alone where they can be tried again', async () => {
    const asked: unknown[] = []
    const operations: Control['operations'] = async filter => (asked.push(filter), { operations: [FACTS] })
    expect(await run(['list', '--dead'], { operations })).toMatchObject({ code: 0 })
    expect(asked).toEqual([{ canRetry: true, limit: 50 }])
  })

  it('are shown with when they are tried again and when they are given up', async () => {
    const queued: OperationFacts = {
      ...FACTS,
      ...OPEN,
      attempts: 2,
      nextAttemptAt: NOW + 10_000,
      expiresAt: NOW + 3_600_000,
      idempotencyKey: 'mail-1',
    }
    const { stdout } = await run(['show', 'op_1'], { operation: async () => queued })
    expect(stdout).toContain('Attempts         2\n')
    expect(stdout).toContain('Next attempt     2023-11-14T22:13:30.000Z\n')
    expect(stdout).toContain('Expires          2023-11-14T23:13:20.000Z\n')
    expect(stdout).toContain('Idempotency key  mail-1\n')
    expect(stdout).not.toContain('End told')
    const { nextAttemptAt: _time, ...blocked } = queued
    const waiting = await run(['show', 'op_1'], { operation: async () => blocked })
    expect(waiting.stdout).toContain('Next attempt     when what it needs is there\n')
  })

  it('are shown with whether their end was told, and how to have them tried again', async () => {
    const untold = await run(['show', 'op_1'], { operation: async () => ({ ...FACTS, canRetry: true }) })
    expect(untold.stdout).toContain('End told        not yet\n')
    expect(untold.stdout).toContain('Can be retried  yes: quartermaster operations retry op_1\n')
    const told = await run(['show', 'op_1'], { operation: async () => ({ ...FACTS, announcedAt: NOW }) })
    expect(told.stdout).toContain('End told        2023-11-14T22:13:20.000Z\n')
    expect(told.stdout).not.toContain('Can be retried')
  })

  it('take no state and no number that is none', async () => {
    expect(await run(['list', '--state', 'lost'])).toMatchObject({ code: 2 })
    expect(await run(['list', '--limit', '0'])).toMatchObject({ code: 2 })
    expect(await run(['list', '--limit', '1001'])).toMatchObject({ code: 2 })
  })
})

describe('operations retry', () => {
  const retry = (facts: Partial<OperationFacts>, args: string[] = []) =>
    run(['retry', 'op_1', ...args], { retryOperation: async ({ id }) => ({ ...FACTS, ...facts, id }) })

  it('tells that it is done', async () => {
    expect(await retry({ state: 'succeeded', error: undefined })).toMatchObject({
      code: 0,
      stdout: '✓ "send_mail" is done. (op_1)\n',
      stderr: '',
    })
  })

  it('tells when it is tried once more', async () => {
    const { code, stdout, stderr } = await retry({ ...OPEN, nextAttemptAt: 0 })
    expect([code, stdout]).toEqual([14, ''])
    expect(stderr).toContain('"send_mail" could not be done now and is retried automatically, now.')
    expect(stderr).toContain('OUTCOME_UNKNOWN: Look first.')
  })

  it('tells that it did not work, and why', async () => {
    const { code, stdout, stderr } = await retry({ state: 'exhausted' })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      '"send_mail" failed after 1 attempt. OUTCOME_UNKNOWN: Look first. (op_1)\nSee all of it: quartermaster operations show op_1\n',
    )
  })

  it('gives a program the operation as it is afterwards', async () => {
    const { code, stdout, stderr } = await retry({ state: 'exhausted' }, ['--json'])
    expect([code, JSON.parse(stdout), stderr]).toEqual([1, { ...FACTS, state: 'exhausted' }, ''])
  })
})

describe('operations cancel', () => {
  const cancel = (state: OperationFacts['state']) =>
    run(['cancel', 'op_1'], { cancelOperation: async () => ({ ...FACTS, state }) })

  it('tells that it is not run any more', async () => {
    expect(await cancel('cancelled')).toMatchObject({
      code: 0,
      stdout: '✓ "send_mail" is cancelled: it is not run any more. (op_1)\n',
    })
  })

  it('tells when it may have done its work, or had ended before', async () => {
    expect(await cancel('unknown')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('may have done its work'),
    })
    expect(await cancel('succeeded')).toMatchObject({ code: 1, stderr: expect.stringContaining('it is succeeded') })
  })
})

describe('operations drop', () => {
  it('tells that it cannot be tried again', async () => {
    const dropped = await run(['drop', 'op_1'], { dropOperation: async () => FACTS })
    expect(dropped).toMatchObject({ code: 0, stdout: expect.stringContaining('"send_mail" is dropped') })
  })
})

describe('operations verify', () => {
  const EFFECTS = [
    { name: 'note', kind: 'fileWritten', before: 'absent' as const, fields: { path: '•••' } },
    { name: 'line', kind: 'lineAppended', before: 'absent' as const, fields: { path: '•••' } },
  ]
  const note = {
    name: 'note',
    state: 'verified' as const,
    reason: 'It is there, and was not before.',
    seen: 'there' as const,
  }
  const line = { name: 'line', state: 'absent' as const, reason: 'It is not there.', seen: 'absent' as const }
  const verify = (found: Partial<OperationVerification>, facts: Partial<OperationFacts> = {}, args: string[] = []) =>
    run(['verify', 'op_1', ...args], {
      verifyOperation: async ({ id }) => ({
        verdict: 'partial',
        effects: [note, line],
        operation: { ...FACTS, effects: EFFECTS, ...facts, id },
        ...found,
      }),
    })

  it('tells of each whether it is there, and what can be done', async () => {
    const { code, stdout, stderr } = await verify({}, { canRetry: true })
    expect(code).toBe(1)
    expect(stdout).toBe(
      'EFFECT  KIND          FOUND     WHY\n' +
        'note    fileWritten   verified  It is there, and was not before.\n' +
        'line    lineAppended  absent    It is not there.\n',
    )
    expect(stderr).toBe(
      '"send_mail": only some of its effects are there. (op_1)\n' +
        'It is still on record as unknown. To have it tried again: quartermaster operations retry op_1\n',
    )
  })

  it('tells that it is on record as done when all is there', async () => {
    const found = await verify(
      { verdict: 'verified', effects: [note], changedFrom: 'unknown' },
      { state: 'succeeded', error: undefined },
    )
    expect([found.code, found.stderr]).toEqual([0, ''])
    expect(found.stdout).toContain(
      '✓ "send_mail": all its effects are there. (op_1)\nIt was unknown, and is on record as succeeded now.\n',
    )
  })

  it('shows an unknown outcome, and when a retry runs automatically', async () => {
    const blind = await verify({ verdict: 'indeterminate' })
    expect([blind.code, blind.stderr]).toEqual([
      1,
      expect.stringContaining('Check again when the reasons above are gone.'),
    ])
    const waiting = await verify({ verdict: 'absent' }, { ...OPEN, nextAttemptAt: 0 })
    expect([waiting.code, waiting.stderr]).toEqual([1, expect.stringContaining('is retried automatically, now.')])
  })

  it('gives a program all of it', async () => {
    const { code, stdout, stderr } = await verify({}, {}, ['--json'])
    expect([code, stderr]).toEqual([1, ''])
    expect(JSON.parse(stdout)).toEqual({
      verdict: 'partial',
      effects: [note, line],
      operation: { ...FACTS, effects: EFFECTS },
    })
  })

  it('shows with the operation what it leaves behind', async () => {
    const effects = [
      { ...EFFECTS[0], state: 'verified' as const },
      { name: 'line', kind: 'lineAppended', before: 'there' as const },
    ]
    const { stdout } = await run(['show', 'op_1'], { operation: async () => ({ ...FACTS, effects: effects as never }) })
    expect(stdout).toContain('Effect          note: fileWritten path=•••; absent before the run, verified after it\n')
    expect(stdout).toContain('Effect          line: lineAppended; there before the run\n')
  })
})

describe('an unknown operation', () => {
  it.each(['show', 'retry', 'cancel', 'verify', 'drop'])(
    'cannot be used with %s, and the list is named',
    async command => {
      const refuse = () => Promise.reject(new AppError('NAME_UNKNOWN', 'There is no operation "op_2".'))
      const control = {
        operation: refuse,
        retryOperation: refuse,
        cancelOperation: refuse,
        verifyOperation: refuse,
        dropOperation: refuse,
      }
      const { code, stderr } = await run([command, 'op_2'], control)
      expect(code).toBe(4)
      expect(stderr).toContain('See all operations: quartermaster operations list')
      expect((await run([command])).code).toBe(2)
    },
  )
})
