// @ts-check

/** Small, so that a log has many places. */
const PAGE = 7
const GONE = 410

/**
 * Somebody who reads a log page by page, and goes on where it is told to when its place is gone.
 * @param {import('../lib/api-client.mjs').ApiClient} owner
 * @param {import('./seats.mjs').Seat} seat
 */
export function followLog(owner, { id, name }) {
  /** @type {string | undefined} */
  let since
  /** @type {number | undefined} the last row that was read; unknown where a place was gone */
  let last = 0
  /** @type {string[]} */
  const holes = []
  let gone = 0

  /** Whether there is more. */
  async function readPage() {
    const from = since === undefined ? 'sinceSeconds=2592000' : `since=${encodeURIComponent(since)}`
    const { status, body } = await owner.ask('GET', `/activity?workspaceId=${id}&limit=${PAGE}&${from}`)
    if (status === GONE) {
      since = body.details.firstCursor
      last = undefined
      gone++
      return true
    }
    if (status !== 200) throw new Error(`The log of ${name} cannot be read: ${status} ${JSON.stringify(body)}`)
    for (const { sequence } of body.activities) {
      if (last !== undefined && sequence !== last + 1) holes.push(`rows between ${last} and ${sequence} of ${name}`)
      last = sequence
    }
    since = body.cursor
    return body.more
  }

  return {
    async readSome() {
      await readPage()
    },
    async readToEnd() {
      while (await readPage());
    },
    /** As far as that moment lets it: whoever writes may be faster, and a log that is written has no end. @param {Promise<unknown>} moment */
    async readUntil(moment) {
      const over = new AbortController()
      void moment.then(() => over.abort())
      while ((await readPage()) && !over.signal.aborted);
    },
    holes: () => holes.splice(0),
    /** How often its place was gone. */
    gone: () => gone,
  }
}
