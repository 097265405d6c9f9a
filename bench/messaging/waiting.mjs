// @ts-check
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { figure } from '../lib/figure.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { openDirect } from './direct.mjs'
import { onStage } from './stage.mjs'
import { clientsOf } from './tokens.mjs'

const GOAL_MS = 20

/**
 * From the moment that one agent begins to send until another that waits has the message, with clients of MCP and of HTTP in
 * turns.
 * @param {object} options
 * @param {import('./stage.mjs').StoreKind} options.store
 * @param {number} options.warmUp
 * @param {number} options.messages
 */
export function run({ store, warmUp, messages }) {
  return onStage(async stage => {
    const place = await stage.place(store)
    const { url } = await stage.up(place)
    const { client, tokenOf } = await clientsOf(place.dir, url)
    const [ada, bob] = [await client('ada'), await client('bob')]
    const mcp = await connect(url, await tokenOf('bob'))
    const direct = await openDirect(place.databaseUrl)
    const ways = { http: overHttp(ada, bob), mcp: overMcp(ada, mcp), direct: () => timed(direct.commit) }
    /** @type {Record<keyof typeof ways, number[]>} */
    const times = { http: [], mcp: [], direct: [] }
    for (let i = 0; i < warmUp + messages; i++)
      for (const way of /** @type {const} */ (['http', 'mcp', 'direct'])) {
        const ms = await ways[way]()
        if (i >= warmUp) times[way].push(ms)
      }
    await direct.close()
    await mcp.close()
    return [
      figure('a direct commit, p50', median(times.direct), 'ms'),
      ...['http', 'mcp'].flatMap(way => {
        const all = times[/** @type {'http' | 'mcp'} */ (way)]
        const what = `message to an agent that waits over ${way.toUpperCase()}`
        return [
          figure(`${what}, p50`, median(all), 'ms', GOAL_MS),
          figure(`${what}, p99`, p99(all), 'ms', GOAL_MS),
          figure(`${what}, p50 against a direct commit`, median(all) / median(times.direct), 'times'),
        ]
      }),
    ]
  })
}

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** @typedef {import('../lib/api-client.mjs').ApiClient} ApiClient */

/** @param {ApiClient} sender */
async function send(sender) {
  const { status, body } = await sender.ask('POST', '/messages', { to: 'bob', text: 'Are you there?' })
  if (status !== 201) throw new Error(`It was not sent: ${JSON.stringify(body)}`)
}

/** @param {ApiClient} ada @param {ApiClient} bob */
function overHttp(ada, bob) {
  return async () => {
    const arrived = bob.ask('GET', '/inbox?waitSeconds=60').then(answer => ({ answer, at: performance.now() }))
    // Whoever is answered second was asked second: the first waits by then.
    await bob.ask('GET', '/inbox')
    const startedAt = performance.now()
    await send(ada)
    const { answer, at } = await arrived
    await bob.ask('DELETE', `/inbox/${answer.body.messages[0].activityId}`)
    return at - startedAt
  }
}

/** @param {ApiClient} ada @param {Client} bob */
function overMcp(ada, bob) {
  return async () => {
    const waiting = bob.callTool({ name: 'wait_for_message', arguments: { timeout_secs: 60 } })
    await bob.callTool({ name: 'inbox_peek', arguments: {} })
    const startedAt = performance.now()
    const arrived = waiting.then(answer => ({ answer, at: performance.now() }))
    await send(ada)
    const { answer, at } = await arrived
    const { message } = /** @type {{ message: { activity_id: string } }} */ (answer.structuredContent)
    await bob.callTool({ name: 'inbox_pop', arguments: { activity_id: message.activity_id } })
    return at - startedAt
  }
}

/** @param {string} url @param {string} token */
async function connect(url, token) {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return client
}
