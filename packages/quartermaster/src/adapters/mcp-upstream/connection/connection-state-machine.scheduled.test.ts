import { describe, expect, it } from 'vitest'
import { type Machine, type MachineEvent, newMachine, next, stateOf } from './connection-state-machine.ts'

type Event = MachineEvent<string>

const NOW = 1_000_000
const ANNOUNCED: Event = { what: 'scheduled' }
const OPEN = { action: 'connect', start: 1, isAgain: false }

const announced = (): Machine<string> => next(newMachine<string>(NOW), ANNOUNCED, NOW).machine

describe('a connection that is to be started soon', () => {
  it.each<Event>([{ what: 'requested' }, { what: 'probed' }, { what: 'restart' }])('is started by $what', event => {
    const { machine, actions } = next(announced(), event, NOW)
    expect(stateOf(machine)).toMatchObject({ kind: 'starting', reason: 'It was started and has not answered yet.' })
    expect(actions).toContainEqual(OPEN)
  })
})
