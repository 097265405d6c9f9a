import { describe, expect, it } from 'vitest'
import { type Happening, isOver } from '../../testing/simulation/history.ts'
import { MISTAKES, type Planted } from '../../testing/simulation/mistakes.ts'
import { violations } from '../../testing/simulation/promises.ts'
import { simulate } from '../../testing/simulation/simulation.ts'

/** Few where it is run all the time; `npm run test:long` draws a thousand, `npm run test:simulation` more. */
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 40)
/** Where they begin: others find other things. */
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 41)
/** Each of the planted mistakes shows within as many; most show within five. */
const MOST_SEEDS = 100

const seeds = (count: number, first = 1) => Array.from({ length: count }, (_, i) => first + i)

/** What has to come up in what is drawn, or its promises are kept for nothing. */
const OCCASIONS: Record<string, (one: Happening) => boolean> = {
  'persons are asked again': one => one.kind === 'moved' && one.from === 'queued' && one.to === 'waitingForApproval',
  'persons want what has ended done again': one => one.kind === 'moved' && isOver(one.from) && one.to === 'queued',
  'what was lost is taken from the dead': one => one.kind === 'moved' && one.from === 'leased' && one.to === 'unknown',
  'something is taken back': one => one.kind === 'revoked',
  'processes die': one => one.kind === 'died',
  'processes stop': one => one.kind === 'stopped',
  'what is old is forgotten': one => one.kind === 'forgotten',
  'it is tried to the last': one => one.kind === 'moved' && one.to === 'exhausted',
}

describe('calls, deaths, lost and doubled writes, answers and wishes of persons, on two processes', () => {
  it('never break a promise, and come to everything that can happen', async () => {
    const missing = new Map(Object.entries(OCCASIONS))
    const broken: { seed: number; found: string[] }[] = []
    for (const seed of seeds(SEEDS, FIRST_SEED)) {
      const outcome = await simulate({ seed })
      const found = violations(outcome)
      if (found.length > 0) broken.push({ seed, found })
      for (const [name, isOne] of missing) if (outcome.history.some(isOne)) missing.delete(name)
    }
    expect(broken).toEqual([])
    expect([...missing.keys()]).toEqual([])
  })

  it('are the same for the same seed', async () => {
    const [first, second] = [await simulate({ seed: 7 }), await simulate({ seed: 7 })]
    expect(second.history).toEqual(first.history)
    expect(first.history.length).toBeGreaterThan(20)
  })
})

/** Whether any history shows it, by that sentence. */
async function isFound({ shows, plant }: Planted): Promise<boolean> {
  for (const seed of seeds(MOST_SEEDS)) {
    const found = violations(await simulate({ seed, mistake: plant() }))
    if (found.some(sentence => shows.test(sentence))) return true
  }
  return false
}

describe('a planted mistake', () => {
  it.each(Object.entries(MISTAKES))('is found: %s', async (_, planted) => {
    expect(await isFound(planted)).toBe(true)
  })
})
