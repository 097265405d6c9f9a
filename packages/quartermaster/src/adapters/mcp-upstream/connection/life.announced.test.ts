import { describe, expect, it } from 'vitest'
import { probeResultOf } from './connection.ts'
import { type Machine, type MachineEvent, newMachine, next, stateOf } from './connection-state-machine.ts'

type Event = MachineEvent<string>

const NOW = 1_000_000
const ANNOUNCED: Event = { what: 'announced' }
const OPEN = { action: 'open', start: 1, isAgain: false }

const announced = (): Machine<string> => next(newMachine<string>(NOW), ANNOUNCED, NOW).machine

describe('a connection that is to be started soon', () => {
  it('stands as one that is being started, and nothing is opened yet', () => {
    const { machine, actions } = next(newMachine<string>(NOW), ANNOUNCED, NOW)
    expect(stateOf(machine)).toMatchObject({ kind: 'starting', reason: 'It is about to be started.', isWaking: true })
    expect(actions).toEqual([])
    // Whoever calls it is let through, and starts it.
    expect(probeResultOf(stateOf(machine), NOW)).toEqual({ up: true, reason: 'It is about to be started.' })
  })

  it.each<Event>([{ what: 'wanted' }, { what: 'lookedAt' }, { what: 'renewed' }])('is started by $what', event => {
    const { machine, actions } = next(announced(), event, NOW)
    expect(stateOf(machine)).toMatchObject({ kind: 'starting', reason: 'It was started and has not answered yet.' })
    expect(actions).toContainEqual(OPEN)
  })

  it('is started once, whoever else needs it', () => {
    const begun = next(announced(), { what: 'wanted' }, NOW).machine
    expect(next(begun, { what: 'wanted' }, NOW)).toEqual({ machine: begun, actions: [] })
  })

  it('can be stopped before', () => {
    const stopped = next(announced(), { what: 'stopped', reason: 'It was removed.' }, NOW).machine
    expect(next(stopped, { what: 'wanted' }, NOW)).toEqual({ machine: stopped, actions: [] })
  })

  it('is none that was started before', () => {
    const begun = next(newMachine<string>(NOW), { what: 'wanted' }, NOW).machine
    expect(next(begun, ANNOUNCED, NOW).machine).toBe(begun)
  })
})
