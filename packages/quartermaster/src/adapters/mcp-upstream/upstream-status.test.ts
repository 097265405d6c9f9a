import { describe, expect, it } from 'vitest'
import type { Connection } from './supervision/connection.ts'
import { standingOf } from './upstream-status.ts'

/** What is told of an upstream that turned us away for this reason. */
function turnedAway(reason: string) {
  const state = () => ({ kind: 'needsLogin' as const, reason, since: 0 })
  const main = { state, session: () => undefined } as unknown as Connection
  return standingOf({ main, lastError: () => undefined }, { name: 'files', off: undefined, recoveringFrom: 0 })
}

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
