import { expect, it } from 'vitest'
import { listedSession } from '../testing/bare-session.ts'
import { RpcError } from './channel.ts'
import { FETCH_LIMITS, fetchListing } from './fetch-listing.ts'

const SIGNAL = new AbortController().signal

/** A server that has tools, and lists them as the test says. */
function serverWith(pageAt: (page: number) => Record<string, unknown>) {
  const seen = { pages: 0 }
  return { session: listedSession(async () => pageAt(seen.pages++)), seen }
}

it('takes all pages of what the server says it has, and asks for nothing else', async () => {
  const { session, seen } = serverWith(page => ({
    tools: [{ name: `t${page}` }],
    ...(page < 2 && { nextCursor: `${page}` }),
  }))
  const { tools, prompts, resources, cut } = await fetchListing(session, SIGNAL)
  expect(tools).toEqual([{ name: 't0' }, { name: 't1' }, { name: 't2' }])
  expect(cut).toBeUndefined()
  expect([prompts, resources, seen.pages]).toEqual([[], [], 3])
})

it('does not go round when a page names one that was there', async () => {
  const { session, seen } = serverWith(() => ({ tools: [{ name: 't' }], nextCursor: 'again' }))
  expect(await fetchListing(session, SIGNAL)).toMatchObject({ cut: ['tools'] })
  expect(seen.pages).toBe(2)
})

it('ends at so many pages, and at so many items, and says so', async () => {
  const empty = serverWith(page => ({ tools: [], nextCursor: `${page}` }))
  expect(await fetchListing(empty.session, SIGNAL)).toMatchObject({ tools: [], cut: ['tools'] })
  expect(empty.seen.pages).toBe(FETCH_LIMITS.pages)
  const full = serverWith(page => ({
    tools: Array.from({ length: 1_000 }, () => ({ name: 't' })),
    nextCursor: `${page}`,
  }))
  const { tools, cut } = await fetchListing(full.session, SIGNAL)
  expect(tools).toHaveLength(FETCH_LIMITS.items)
  expect(cut).toEqual(['tools'])
})

it('ends when few items, or the names of pages, are as large as many', async () => {
  const large = 'x'.repeat(FETCH_LIMITS.characters / 4)
  const items = serverWith(page => ({ tools: [{ name: 't', description: large }], nextCursor: `${page}` }))
  await fetchListing(items.session, SIGNAL)
  const cursors = serverWith(page => ({ tools: [], nextCursor: `${page}${large}` }))
  await fetchListing(cursors.session, SIGNAL)
  expect([items.seen.pages, cursors.seen.pages]).toEqual([4, 4])
})

it('knows nothing of what the server then refuses to list', async () => {
  const { session } = serverWith(() => {
    throw new RpcError({ code: -32_601, message: 'No.' })
  })
  expect((await fetchListing(session, SIGNAL)).tools).toBeUndefined()
})
