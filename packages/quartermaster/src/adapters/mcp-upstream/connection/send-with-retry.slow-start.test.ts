import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { SendFailure } from '../peer/channel.ts'
import { stage } from '../testing/retry-fixture.ts'
import type { Connection } from './connection.ts'

const BROKEN = new SendFailure('It exited.', { wasSent: 'maybe' })
const CANCELLED = new AppError('CANCELLED', 'The caller gave up.')

/** So many calls at a server that is about to break twice, after which all of them go one after the other. */
function careful(amount: number, ...answers: unknown[]) {
  return stage(...Array.from({ length: 2 * amount }, () => BROKEN), ...answers)
}

/** A connection on which whoever takes it gives up as soon as it is its turn, or as soon as it has the session for it. */
function leftAtOnce(connection: Connection, when: 'turn' | 'session') {
  const controller = new AbortController()
  let hasTurn = false
  const leave = (now: typeof when) => {
    if (hasTurn && now === when) controller.abort(CANCELLED)
  }
  const current: Connection = {
    ...connection,
    slowStart: {
      async enter(signal) {
        const turn = await connection.slowStart.enter(signal)
        hasTurn = true
        leave('turn')
        return turn
      },
    },
    take(options) {
      leave('session')
      return connection.take(options)
    },
  }
  return { current: () => current, signal: controller.signal }
}

it('blames none of those that were at work together when the connection broke once more', async () => {
  const { send, seen, clock } = careful(3, 'done in a second', BROKEN, BROKEN, 'done')
  const sent = [1, 2, 3].map(() => send({ mayRepeat: true }))
  await clock.advance(1_000)
  expect(await Promise.all(sent)).toHaveLength(3)
  // Of the two that went together after the first, each was sent once more.
  expect(seen.tries.slice(6)).toEqual([0, 1_000, 1_000, 1_000, 1_000])
})

it.each(['turn', 'session'] as const)('lets the next one go when one gives up just as it gets its %s', async when => {
  const { send, connection, seen, clock } = careful(2, 'done')
  const given = send({ mayRepeat: true, ...leftAtOnce(connection, when) })
  const next = send({ mayRepeat: true })
  await clock.advance(0)
  await expect(given).rejects.toBe(CANCELLED)
  expect(seen.tries).toHaveLength(5)
  expect(await next).toBe('done')
})
