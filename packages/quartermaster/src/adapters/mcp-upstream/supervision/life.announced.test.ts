import { describe, expect, it } from 'vitest'
import { verdictOf } from './connection.ts'
import { stateOf } from './connection-state.ts'
import { type Life, type LifeEvent, newLife, next } from './life.ts'

type Event = LifeEvent<string>

const NOW = 1_000_000
const ANNOUNCED: Event = { what: 'announced' }
const OPEN = { deed: 'open', start: 1, isAgain: false }

const announced = (): Life<string> => next(newLife<string>(NOW), ANNOUNCED, NOW).life

describe('a connection that is to be started soon', () => {
  it('stands as one that is being started, and nothing is opened yet', () => {
    const { life, deeds } = next(newLife<string>(NOW), ANNOUNCED, NOW)
    expect(stateOf(life)).toMatchObject({ kind: 'starting', reason: 'It is about to be started.', isWaking: true })
    expect(deeds).toEqual([])
    // Whoever calls it is let through, and starts it.
    expect(verdictOf(stateOf(life), NOW)).toEqual({ up: true, reason: 'It is about to be started.' })
  })

  it.each<Event>([{ what: 'wanted' }, { what: 'lookedAt' }, { what: 'renewed' }])('is started by $what', event => {
    const { life, deeds } = next(announced(), event, NOW)
    expect(stateOf(life)).toMatchObject({ kind: 'starting', reason: 'It was started and has not answered yet.' })
    expect(deeds).toContainEqual(OPEN)
  })

  it('is started once, whoever else needs it', () => {
    const begun = next(announced(), { what: 'wanted' }, NOW).life
    expect(next(begun, { what: 'wanted' }, NOW)).toEqual({ life: begun, deeds: [] })
  })

  it('can be stopped before', () => {
    const stopped = next(announced(), { what: 'stopped', reason: 'It was removed.' }, NOW).life
    expect(next(stopped, { what: 'wanted' }, NOW)).toEqual({ life: stopped, deeds: [] })
  })

  it('is none that was started before', () => {
    const begun = next(newLife<string>(NOW), { what: 'wanted' }, NOW).life
    expect(next(begun, ANNOUNCED, NOW).life).toBe(begun)
  })
})
