import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { SendFailure } from '../peer/channel.ts'
import type { Session } from '../peer/session.ts'
import { stage } from '../testing/passage-stage.ts'
import type { Connection } from './connection.ts'

const GIVEN_UP = new AppError('DEPENDENCY_UNAVAILABLE', '"upstream:s" cannot be reached: It was stopped.')

/** A connection that has this session at once. */
function ready(session: Session): Connection {
  const parts: Partial<Connection> = {
    takeNow: () => session,
    take: async () => session,
    answered() {},
    failed: async () => {},
    suspect: async () => {},
  }
  return parts as Connection
}

/** A connection that whoever uses it has to wait for. */
function starting(take: Connection['take']): Connection {
  const parts: Partial<Connection> = { takeNow: () => undefined, take, answered() {} }
  return parts as Connection
}

it('leaves a connection that is not for its agent any more once it is up, and takes the other', async () => {
  const { send, seen, ways } = stage('done')
  const [own, shared] = [{} as Session, {} as Session]
  const sharedOne = starting(async () => {
    ways.splice(0, 1, ready(own))
    return shared
  })
  ways.push(sharedOne)
  expect(await send()).toBe('done')
  expect(seen.sessions).toHaveLength(1)
  expect(seen.sessions[0]).toBe(own)
})

it('leaves a connection that is given up while it waits for it, and takes the one that there is now', async () => {
  const { send, seen, ways } = stage('done')
  const shared = {} as Session
  const own = starting(async () => {
    ways.splice(0, 1, ready(shared))
    throw GIVEN_UP
  })
  ways.push(own)
  expect(await send()).toBe('done')
  expect(seen.sessions).toHaveLength(1)
  expect(seen.sessions[0]).toBe(shared)
})

/** One that is given up while it is waited for, and so on with those in its place, or until there is one that stays. */
function replaced(ways: Connection[], times: number): Connection {
  return starting(async () => {
    ways.splice(0, 1, times > 1 ? replaced(ways, times - 1) : ready({} as Session))
    throw GIVEN_UP
  })
}

it('takes the one that there is in the end, however often it was replaced', async () => {
  const { send, ways } = stage('done')
  ways.push(replaced(ways, 20))
  expect(await send()).toBe('done')
})

it('gives up where it is moved on more often than anybody edits an entry', async () => {
  const { send, ways, seen } = stage('done')
  ways.push(replaced(ways, 100))
  await expect(send()).rejects.toBe(GIVEN_UP)
  expect(seen.tries).toEqual([])
})

it('follows what is replaced without end for no longer than its call may take', async () => {
  const { clock, send, ways, controller } = stage('done')
  const late = new AppError('DEADLINE_EXCEEDED', 'It did not finish within 5000 ms.')
  clock.after(5_000, () => controller.abort(late))
  ways.push(replaced(ways, Number.POSITIVE_INFINITY))
  const sent = send()
  await clock.advance(5_000)
  await expect(sent).rejects.toBe(late)
})

it('fails with the connection that is given up where there is no other', async () => {
  const { send, ways } = stage('done')
  ways.push(starting(() => Promise.reject(GIVEN_UP)))
  await expect(send()).rejects.toBe(GIVEN_UP)
})

it('has all its time again for another connection than the one that it waited for', async () => {
  const { clock, send, ways } = stage('done')
  const budgets: number[] = []
  const next = starting(async ({ budgetMs }) => {
    budgets.push(budgetMs)
    return {} as Session
  })
  const first = starting(async () => {
    await new Promise<void>(resolve => void clock.after(12_000, resolve))
    ways.splice(0, 1, next)
    throw GIVEN_UP
  })
  ways.push(first)
  const sent = send()
  await clock.advance(12_000)
  expect(await sent).toBe('done')
  expect(budgets).toEqual([10_000])
})

it.each([true, false])(
  'knows that it may be done also where there is no place for the next try: %s',
  async mayRepeat => {
    const { send } = stage(new SendFailure('It exited.', { wasSent: 'maybe' }))
    let isFull = false
    const current = () => {
      if (isFull) throw new AppError('RATE_LIMITED', '64 agents use it already.')
      isFull = true
      return ready({} as Session)
    }
    await expect(send({ mutates: true, mayRepeat, current })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  },
)
