import { expect, it } from 'vitest'
import { listedSession } from '../testing/bare-session.ts'
import { RpcError } from './channel.ts'
import { fetchListing } from './fetch-listing.ts'

const SIGNAL = new AbortController().signal

/** A server that has tools, and lists them as the test says. */
function serverWith(pageAt: (page: number) => Record<string, unknown>) {
  const seen = { pages: 0 }
  return { session: listedSession(async () => pageAt(seen.pages++)), seen }
}

it('knows nothing of what the server then refuses to list', async () => {
  const { session } = serverWith(() => {
    throw new RpcError({ code: -32_601, message: 'No.' })
  })
  expect((await fetchListing(session, SIGNAL)).tools).toBeUndefined()
})
