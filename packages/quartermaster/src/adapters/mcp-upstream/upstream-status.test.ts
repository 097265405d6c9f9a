import { describe, expect, it } from 'vitest'
import type { Connection } from './supervision/connection.ts'
import type { ConnectionState } from './supervision/connection-state.ts'
import { standingOf } from './upstream-status.ts'

function standing(state: ConnectionState) {
  const main = { state: () => state, session: () => undefined } as unknown as Connection
  return standingOf({ main, lastError: () => undefined }, { name: 'files', off: undefined, recoveringFrom: 0 })
}

/** What is told of an upstream that turned us away for this reason. */
function turnedAway(reason: string) {
  return standing({ kind: 'needsLogin', reason, since: 0 })
}

it.each(['waiting', 'starting'] as const)('an upstream that is busy is not down (%s)', kind => {
  expect(standing({ kind, reason: 'It is busy.', since: 0, isBusy: true })).toMatchObject({ state: 'recovering' })
})

describe('an upstream that lets nobody in', () => {
  it('needs a login where one would help', () => {
    const reason = '"files" lets nobody in who has not signed in. Sign in: quartermaster login files'
    expect(turnedAway(reason)).toMatchObject({ state: 'needsLogin', reason })
  })

  it('has refused the key where it is the configuration that has to be mended', () => {
    const reason = '"files" does not take the key that it is sent. Change "headers.Authorization" in its entry.'
    expect(turnedAway(reason)).toMatchObject({ state: 'keyRefused', reason })
  })
})
