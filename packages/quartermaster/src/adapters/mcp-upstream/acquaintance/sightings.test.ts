import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Session } from '../session/session.ts'
import { createSightings } from './sightings.ts'

const FOREVER = new AbortController().signal

/** A server that is listed, as slowly as the test wants. */
function stage() {
  const clock = createFakeClock()
  const server = { lists: 0, isSlow: false }
  const session: Partial<Session> = {
    facts: {
      era: 'legacy',
      version: '2025-11-25',
      server: { name: 's', version: '1' },
      instructions: undefined,
      capabilities: { tools: {} },
    },
    async page(_kind, _cursor, signal) {
      server.lists++
      if (server.isSlow) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return { tools: [] }
    },
  }
  const written: string[] = []
  const compared: string[] = []
  const notes: string[] = []
  const config = UpstreamConfig.parse({ command: 'server' })
  const sightings = createSightings({
    clock,
    verdicts: {
      recall: async () => {},
      async see() {
        written.push('definitions')
        return false
      },
      review: decide => decide(),
      settled: async () => {},
    },
    own: {
      async compare() {
        compared.push('definitions')
        return true
      },
    },
    acquaintance: {
      era: () => undefined,
      turnedOut() {},
      since: () => 0,
      recall: async () => {},
      remember: () => void written.push('facts'),
    },
    config: () => config,
    main: () => ({ session: () => session as Session, suspect: async () => {} }),
    sessionOf: () => undefined,
    otherTools: async () => [],
    note: text => void notes.push(text),
  })
  return { clock, server, session: session as Session, sightings, written, compared, notes }
}

it('lists a server every now and then, also after a listing that took too long', async () => {
  const { clock, server, session, sightings, notes } = stage()
  await sightings.take(session, FOREVER)
  await clock.advance(180_000)
  expect(server.lists).toBe(4)
  server.isSlow = true
  await clock.advance(120_000)
  expect(notes).toContain('What it has could not be listed again: It took too long.')
  server.isSlow = false
  const before = server.lists
  await clock.advance(3_600_000)
  expect(server.lists - before).toBeGreaterThan(30)
})

it('writes nothing more down of a server that is gone, and compares what is opened to finish with it', async () => {
  const { clock, server, session, sightings, written, compared } = stage()
  await sightings.take(session, FOREVER)
  expect(written).toEqual(['facts', 'definitions'])
  sightings.stop()
  sightings.again()
  await clock.advance(600_000)
  expect(server.lists).toBe(1)
  await sightings.take(session, FOREVER)
  expect(compared).toEqual(['definitions'])
  expect(written).toHaveLength(2)
})

it('does not write down either what was being listed when it went', async () => {
  const { sightings, session, written, server } = stage()
  const taking = sightings.take(session, FOREVER)
  sightings.stop()
  await taking
  expect(server.lists).toBe(1)
  expect(written).toEqual([])
})
