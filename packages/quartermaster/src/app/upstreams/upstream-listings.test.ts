import { expect, it } from 'vitest'
import type { UpstreamStatus } from '../../contracts/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createUpstreamListings, type UpstreamListingsDeps } from './upstream-listings.ts'

/** Servers of which some are being started, and what is done about them in which order. */
function desk({ isAnyStarting = true, added = [] as string[] } = {}) {
  const done: unknown[] = []
  const note = (...what: unknown[]) => void done.push(what.length === 1 ? what[0] : what)
  const statuses = isAnyStarting ? [{ state: 'starting' } as UpstreamStatus] : []
  const deps: UpstreamListingsDeps = {
    upstreams: {
      start: which => note('start', which),
      statuses: () => statuses,
      met: async (withinMs, options) => note('met', withinMs, options),
      meetNow: async (name, withinMs) => (note('meetNow', name, withinMs), true),
      meetOnly: async (choice, withinMs) => (note('meetOnly', choice, withinMs), isAnyStarting),
      meetAgain: async (name, withinMs) => (note('meetAgain', name, withinMs), isAnyStarting),
      lookAgain: async () => note('lookAgain'),
      readAgain: async () => isAnyStarting,
      isComing: () => isAnyStarting,
      onState: () => () => {},
    },
    core: {
      catalogue: {
        async reload() {
          note('reload')
          return { generation: 2, added, changed: [], removed: [], rejected: [], durationMs: 1 }
        },
        current: () => ({ capabilities: new Map(), isPartial: false }) as never,
      },
      health: { probeNew: async () => note('probeNew') },
      emitter: { on: () => () => {} },
    },
    clock: createFakeClock(),
    settings: { firstListWaitMs: 0 },
  }
  return { meetings: createUpstreamListings(deps), done }
}

it('waits for all only a grace longer than the last took that came, and once', async () => {
  const { meetings, done } = desk()
  await Promise.all([meetings.meet(), meetings.meet()])
  expect(done).toEqual([['start', 'unseenHere'], ['met', 10_000, { graceMs: 3_000 }], 'reload', 'probeNew'])
})

it('waits longer for the one that somebody needs, and looks at nothing anew where there is none', async () => {
  const { meetings, done } = desk({ isAnyStarting: false })
  await meetings.meet({ name: 'notes' })
  expect(done).toEqual([['meetOnly', { name: 'notes' }, 10_000]])
})

it('takes in what one lists now that was seen before, and looks at nothing anew where it is not started', async () => {
  const { meetings, done } = desk()
  await meetings.meetAgain('notes')
  expect(done).toEqual([['meetAgain', 'notes', 10_000], 'reload', 'probeNew'])
  const other = desk({ isAnyStarting: false })
  await other.meetings.meetAgain('notes')
  expect(other.done).toEqual([['meetAgain', 'notes', 10_000]])
})

it('has those that came together looked at again with the tools of each other', async () => {
  const { meetings, done } = desk({ added: ['tool:notes_add'] })
  await meetings.takeIn()
  expect(done).toEqual(['reload', 'lookAgain', 'reload'])
})

it('takes in what a server has that a call waits for, and starts nothing for what is no server', async () => {
  const { meetings, done } = desk()
  await meetings.connectUnseen('capabilities/notes.ts', 5_000)
  await meetings.connectUnseen('upstream:notes', 5_000)
  expect(done).toEqual([['meetNow', 'notes', 5_000], 'reload'])
})
