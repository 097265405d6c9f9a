import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import type { Session } from '../peer/session.ts'
import { stage } from '../testing/retry-fixture.ts'
import type { Connection } from './connection.ts'

const GIVEN_UP = new AppError('DEPENDENCY_UNAVAILABLE', '"upstream:s" cannot be reached: It was stopped.')

/** A connection that has this session at once. */
function ready(session: Session): Connection {
  const parts: Partial<Connection> = {
    takeNow: () => session,
    take: async () => session,
    noteSuccess() {},
    noteFailure: async () => {},
    verifyAlive: async () => {},
  }
  return parts as Connection
}

/** A connection that whoever uses it has to wait for. */
function starting(take: Connection['take']): Connection {
  const parts: Partial<Connection> = { takeNow: () => undefined, take, noteSuccess() {} }
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
