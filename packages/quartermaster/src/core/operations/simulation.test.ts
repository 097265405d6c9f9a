import { describe, expect, it } from 'vitest'
import { violations } from '../../testing/simulation/history.ts'
import { type Bend, simulate } from '../../testing/simulation/simulation.ts'
import type { Write } from '../store/index.ts'

/** Enough to find each of the planted mistakes; `SIMULATION_SEEDS=5000 npx vitest run …/simulation.test.ts` draws thousands. */
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 60)

const seeds = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

async function faults(count: number): Promise<{ seed: number; found: string[] }[]> {
  const all = []
  for (const seed of seeds(count)) {
    const found = violations(await simulate({ seed }))
    if (found.length > 0) all.push({ seed, found })
  }
  return all
}

describe('calls, deaths, lost and doubled writes, answers of persons, on two processes', () => {
  it('never break a promise', { timeout: 300_000 }, async () => {
    expect(await faults(SEEDS)).toEqual([])
  })

  it('also have persons asked again', { timeout: 300_000 }, async () => {
    for (const seed of seeds(300)) {
      const { history } = await simulate({ seed })
      if (history.some(({ kind }) => kind === 'askedAgain')) return
    }
    expect.fail('No seed comes to where what allowed a call has run out.')
  })

  it('are the same for the same seed', async () => {
    const [first, second] = [await simulate({ seed: 7 }), await simulate({ seed: 7 })]
    expect(second.history).toEqual(first.history)
    expect(first.history.length).toBeGreaterThan(20)
  })
})

const onOperations =
  (bend: (write: Extract<Write, { kind: 'update' }>) => Write): Bend =>
  writes =>
    writes.map(write => (write.kind === 'update' && write.table === 'operations' ? bend(write) : write))

const MISTAKES: Record<string, Bend> = {
  'a run that somebody else has taken over can still end it': onOperations(write => {
    const { fence: _fence, state: _state, ...where } = write.where as Record<string, unknown>
    return { ...write, where } as Write
  }),
  'what was taken back still counts': writes =>
    writes.map(write =>
      write.kind === 'update' && write.table === 'grants' && 'revokedAt' in write.set
        ? ({ ...write, set: { revokedBy: null } } as Write)
        : write,
    ),
  'what may not be repeated is repeated': writes =>
    writes.map(write =>
      write.kind === 'insert' && write.table === 'operations'
        ? ({ ...write, row: { ...write.row, retry: 'replay' } } as Write)
        : write,
    ),
  'keys are forgotten': writes =>
    writes.map(write =>
      write.kind === 'insert' && write.table === 'operations'
        ? ({ ...write, row: { ...write.row, idempotencyKey: null } } as Write)
        : write,
    ),
  'ends are not told': onOperations(write => ({ ...write, set: { ...write.set, tellAt: null } }) as Write),
  'what has failed for now is put off for ever': onOperations(write =>
    'dueAt' in write.set && write.set.state === 'queued'
      ? ({ ...write, set: { ...write.set, dueAt: null, expiresAt: null } } as Write)
      : write,
  ),
}

/** The first seed whose history shows it. */
async function firstFault(bend: Bend): Promise<number | undefined> {
  for (const seed of seeds(300)) if (violations(await simulate({ seed, bend })).length > 0) return seed
  return undefined
}

describe('a planted mistake', () => {
  it.each(Object.entries(MISTAKES))('is found: %s', { timeout: 300_000 }, async (_, bend) => {
    expect(await firstFault(bend)).toBeDefined()
  })
})
