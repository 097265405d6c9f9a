// @ts-check
import { createApiClient } from '../lib/api-client.mjs'

/**
 * A workspace, and clients with tokens of their own.
 * @typedef {object} Seat
 * @property {string} name
 * @property {string} id
 * @property {import('../lib/api-client.mjs').ApiClient} writer
 * @property {import('../lib/api-client.mjs').ApiClient[]} readers
 */

/**
 * Workspaces that reach each other.
 * @param {import('../lib/api-client.mjs').ApiClient} owner
 * @param {readonly string[]} names
 * @param {{ urls: readonly (() => string)[], readers: number }} options where clients go, in turns
 * @returns {Promise<Seat[]>}
 */
export async function takeSeats(owner, names, { urls, readers }) {
  let next = 0
  const made = async (/** @type {string} */ path, /** @type {object} */ body) => {
    const answer = await owner.ask('POST', path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const seats = []
  for (const name of names) {
    const { id } = await made('/workspaces', { name })
    const client = async () => {
      const url = urls[next++ % urls.length]
      if (!url) throw new Error('There is nowhere to go.')
      return createApiClient(url, (await made(`/workspaces/${id}/tokens`, {})).token)
    }
    const writer = await client()
    seats.push({ name, id, writer, readers: await Promise.all(Array.from({ length: readers }, client)) })
  }
  return seats
}
