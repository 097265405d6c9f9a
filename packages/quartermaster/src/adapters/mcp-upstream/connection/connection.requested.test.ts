import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { FOREVER, stage } from '../testing/connection-fixture.ts'

const BUDGET_MS = 10_000

/** A server that falls a while after each start, whatever is done about it. */
function falling(afterMs: number) {
  const staged = stage()
  const { clock, server, crash, connection } = staged
  const startedAt: number[] = []
  server.onStart = () => {
    startedAt.push(clock.now())
    clock.after(afterMs, crash)
  }
  connection.start()
  return { ...staged, startedAt }
}

/** Calls, one after the other, that are answered where the server is there. Tells what became of them. */
function calling({ connection, clock }: Pick<ReturnType<typeof stage>, 'connection' | 'clock'>) {
  const outcomes: string[] = []
  async function call(): Promise<void> {
    const outcome = await connection.take({ budgetMs: BUDGET_MS, signal: FOREVER }).then(
      () => 'answered',
      (error: unknown) => (error instanceof AppError ? error.code : String(error)),
    )
    outcomes.push(outcome)
    if (outcome === 'answered') connection.noteSuccess('tools/call')
    clock.after(100, () => void call())
  }
  void call()
  return outcomes
}

it('is started within the time of the calls that wait for it, however often it has fallen', async () => {
  const staged = falling(2_000)
  const outcomes = calling(staged)
  await staged.clock.advance(300_000)
  expect(new Set(outcomes)).toEqual(new Set(['answered']))
})

it('is not started oftener than every five seconds for them, once it has fallen a few times', async () => {
  const staged = falling(1)
  calling(staged)
  await staged.clock.advance(300_000)
  const late = staged.startedAt.filter(at => at > (staged.startedAt[0] ?? 0) + 20_000)
  const pauses = late.slice(1).map((at, index) => at - (late[index] ?? 0))
  expect(pauses.length).toBeGreaterThan(0)
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(5_000)
})
