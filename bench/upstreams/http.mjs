// @ts-check

import { contest } from '../gateway/contest.mjs'
import { ADD } from '../gateway/workloads.mjs'
import { profileOf } from '../lib/stage.mjs'
import { onStage } from './stage.mjs'

/** What we may add to the time of a server that is reached by HTTP. */
const MORE_MS = 0.6

/**
 * A server behind that is reached by HTTP, clients of 2026-07-28 in front. Of the peers only one takes such a server, and
 * speaks to its own clients as they did before.
 * @param {import('../gateway/contest.mjs').Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const { url } = await stage.httpServer()
    const setting = { servers: { adder: { url: `${url}/mcp` } }, tool: ADD }
    const product = await stage.product({ ...setting, front: 'modern', profile: profileOf(profileDir, 'http') })
    const direct = await stage.directHttp({ tool: ADD, front: 'modern' })
    const bridge = await stage.httpBridge(`${url}/mcp`, ADD)
    const { entrants, gaps } = await stage.peers([{ name: 'mcp-hub', front: 'events' }], setting)
    const runners = [product, { ...direct, allowed: { moreMs: MORE_MS } }, bridge, ...entrants]
    return [...(await contest(runners, load)), ...gaps]
  })
}
