import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import type { HeldDefinition, OfferedDefinition } from '../../core/upstreams/index.ts'
import type { Connection } from './connection/connection.ts'
import type { ConnectionState } from './connection/connection-state-machine.ts'
import type { Connections } from './connection/connections.ts'
import { amountsOf, connectionFactsOf } from './upstream.ts'

function standing(state: ConnectionState) {
  const main = { state: () => state, session: () => undefined } as unknown as Connection
  return connectionFactsOf({ main, lastError: () => undefined }, { name: 'files', off: undefined, recoveringFrom: 0 })
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
    const reason = '"files" requires a login. Sign in: quartermaster login files'
    expect(turnedAway(reason)).toMatchObject({ state: 'needsLogin', reason })
  })

  it('has refused the key where it is the configuration that has to be fixed', () => {
    const reason = '"files" does not take the key that it is sent. Change "headers.Authorization" in its entry.'
    expect(turnedAway(reason)).toMatchObject({ state: 'keyRefused', reason })
  })
})

describe('what waits for a person', () => {
  const held = (kind: HeldDefinition['kind'], name: string, state: HeldDefinition['state'] = 'suspicious') => ({
    kind,
    name,
    state,
    reason: '',
  })
  const HELD = [
    held('server', 'notes'),
    held('tool', 'read'),
    held('tool', 'left'),
    held('prompt', 'left'),
    held('prompt', 'refused', 'rejected'),
    held('resource', 'note://a'),
    held('template', 'note://{id}'),
  ]
  const warned = (kind: OfferedDefinition['kind'], name: string) => ({
    kind,
    name,
    hash: '',
    value: {},
    isWarned: true,
  })
  const OFFERED = [warned('tool', 'find'), warned('tool', 'left'), warned('prompt', 'greet')]

  function counts(options: object = {}) {
    const config = UpstreamConfig.parse({ command: 'notes', leaveOut: ['left'], ...options })
    const connections = { all: () => [], withLeft: () => [] } as unknown as Connections
    return amountsOf({ offered: OFFERED, held: HELD, gone: [], problems: [] }, { connections, config })
  }

  it('is counted beside the tools too: instructions, prompts, resources and templates', () => {
    expect(counts()).toMatchObject({ tools: { offered: 1, held: 1 }, othersHeld: 4 })
  })

  it('is not what the owner leaves out', () => {
    expect(counts({ prompts: false })).toMatchObject({ othersHeld: 3 })
    expect(counts({ prompts: false, resources: false })).toMatchObject({ othersHeld: 1 })
    expect(counts()).toMatchObject({ warned: 2 })
    expect(counts({ prompts: false })).toMatchObject({ warned: 1 })
  })
})
