import { describe, expect, it } from 'vitest'
import type { ChannelEnd } from '../peer/channel.ts'
import { DEMAND_START_MS, type Machine, type MachineEvent, newMachine, next } from './connection-state-machine.ts'

type Event = MachineEvent<string>

const NOW = 1_000_000
const WANTED: Event = { what: 'requested' }
const EXITED: ChannelEnd = { kind: 'exited', reason: 'It ended with exit code 1.' }
/** Somebody who needs it now: a call, and a person or a call that wants to know. */
const NEEDING: readonly Event[] = [WANTED, { what: 'probed' }]

const opened = (start: number): Event => ({ what: 'connected', start, session: `s${start}`, note: 'Connected.' })
const fell = (session: string): Event => ({ what: 'sessionEnded', session, end: EXITED, isNeeded: true, jitter: 1 })

/** One that came up and fell so many times, each time in the moment of its start, and what came of its lives. */
function fallen(times: number, during: readonly Event[] = []): Machine<string> {
  let machine = next(newMachine<string>(NOW), WANTED, NOW).machine
  for (let start = 1; start <= times; start++) {
    if (machine.kind === 'waiting') machine = next(machine, { what: 'timerDue', isNeeded: true }, NOW).machine
    for (const event of [opened(start), ...during, fell(`s${start}`)]) machine = next(machine, event, NOW).machine
  }
  return machine
}

describe('a connection that waits for its next start', () => {
  it.each(NEEDING)('is started for whoever needs it, five seconds after its last start ($what)', event => {
    const step = next(fallen(7), event, NOW + DEMAND_START_MS)
    expect(step.machine.kind).toBe('starting')
    expect(step.actions).toEqual([{ action: 'connect', start: 8, isAgain: true }])
  })

  it.each(NEEDING)('waits only that long for whoever needs it sooner, and is looked at from outside ($what)', event => {
    const step = next(fallen(7), event, NOW + 1_000)
    expect(step.machine).toMatchObject({ kind: 'waiting', since: NOW, nextStartAt: NOW + DEMAND_START_MS })
    expect(step.actions).toEqual([
      { action: 'wait', ms: DEMAND_START_MS - 1_000 },
      { action: 'watchForChange', downSince: NOW },
    ])
    for (const again of NEEDING) expect(next(step.machine, again, NOW + 2_000).machine).toBe(step.machine)
  })
  it('is left to its pauses by calls when they had nothing of its last lives, so that it is down in the end', () => {
    const machine = fallen(8)
    expect(machine.nextStartAt).toBe(NOW + 16_000)
    for (const now of [NOW, NOW + DEMAND_START_MS, NOW + 15_999])
      expect(next(machine, WANTED, now).machine).toBe(machine)
    // A person wants to know, or it is down already.
    expect(next(machine, { what: 'probed' }, NOW + DEMAND_START_MS).machine.kind).toBe('starting')
  })
})
