// @ts-check
import { createApiClient } from '../lib/api-client.mjs'
import { figure, figureOfRounds } from '../lib/figure.mjs'
import { profileOf } from '../lib/stage.mjs'
import { median, p99, ratio } from '../lib/statistics.mjs'
import { crowd } from '../operations/crowd.mjs'
import { openDirect } from './direct.mjs'
import { onStage } from './stage.mjs'
import { clientsOf } from './tokens.mjs'

const MOST_CPU_US = 1_500

/**
 * Messages of one agent to another over HTTP by so many senders at once, in turns with as many requests to a bare server that
 * commits something for each, and with as many direct commits.
 * @param {object} options
 * @param {import('./stage.mjs').StoreKind} options.store
 * @param {readonly number[]} options.senders
 * @param {number} options.warmUp
 * @param {number} options.rounds
 * @param {number} options.messages
 * @param {string} [options.profileDir]
 */
export function run({ store, senders, warmUp, rounds, messages, profileDir }) {
  return onStage(async stage => {
    const place = await stage.place(store)
    const server = await stage.up(place, profileOf(profileDir, 'sending'))
    const { client } = await clientsOf(place.dir, server.url)
    const [ada, bob] = [await client('ada'), await client('bob')]
    const direct = await openDirect(place.databaseUrl)
    const floor = await stage.floor(await stage.place(store))
    const stranger = createApiClient(() => floor.url, 'nobody')
    const send = () => sendBy(ada)
    const sendBare = () => sendBy(stranger)
    // A process compiles what it does often while it does it, which is no part of what a message costs.
    for (const work of [send, sendBare]) await crowd({ count: warmUp, inFlight: 4 }, work)
    await emptied(bob)
    await server.profiler?.start()
    const figures = []
    for (const inFlight of senders) {
      const measured = []
      for (let round = 0; round < rounds; round++) {
        const load = { count: messages, inFlight }
        const sent = await used(server, load, send)
        const least = await used(floor, load, sendBare)
        measured.push({ sent, least, bare: await crowd(load, direct.commit) })
        // No inbox takes any number of them.
        await emptied(bob)
      }
      figures.push(...figuresOf(inFlight, measured))
    }
    await server.profiler?.stop()
    stranger.close()
    await direct.close()
    return figures
  })
}

/** @typedef {import('../operations/crowd.mjs').Round} Round */
/** @typedef {import('../lib/api-client.mjs').ApiClient} ApiClient */

/** @param {ApiClient} sender */
async function sendBy(sender) {
  const { status, body } = await sender.ask('POST', '/messages', { to: 'bob', text: 'So it is.' })
  if (status !== 201) throw new Error(`It was not sent: ${JSON.stringify(body)}`)
}

/**
 * The processor time is the server's, for each message.
 * @param {import('../lib/server-process.mjs').ServerProcess} server
 * @param {{ count: number, inFlight: number }} load
 * @param {() => Promise<void>} work
 * @returns {Promise<Round>}
 */
async function used(server, load, work) {
  const cpu = server.usage().cpuUs
  const round = await crowd(load, work)
  return { ...round, cpuUs: (server.usage().cpuUs - cpu) / load.count }
}

/** @param {number} inFlight @param {readonly { sent: Round, least: Round, bare: Round }[]} measured */
function figuresOf(inFlight, measured) {
  const what = `${inFlight} ${inFlight === 1 ? 'sender' : 'senders'}`
  const all = measured.flatMap(({ sent }) => sent.latenciesUs)
  const rate = (/** @type {'sent' | 'least' | 'bare'} */ kind) => median(measured.map(one => one[kind].perSecond))
  const cpu = (/** @type {'sent' | 'least'} */ kind) => median(measured.map(one => one[kind].cpuUs))
  return [
    figureOfRounds(
      what,
      measured.map(({ sent }) => sent.perSecond),
      'messages/s',
    ),
    figure(`${what}, p50`, median(all) / 1_000, 'ms'),
    figure(`${what}, p99`, p99(all) / 1_000, 'ms'),
    figure(`${what}, processor time of each`, cpu('sent'), 'µs', MOST_CPU_US),
    figure(`${what}, processor time of each by a bare server with one commit`, cpu('least'), 'µs'),
    figure(`${what}, processor time against that`, ratio(cpu('sent'), cpu('least')), 'times'),
    figure(`${what}, time against a bare server with one commit`, rate('least') / rate('sent'), 'times'),
    figure(`${what}, direct commits in the time of one message`, rate('bare') / rate('sent'), 'times'),
  ]
}

/** @param {ApiClient} reader */
async function emptied(reader) {
  for (;;) {
    const { body } = await reader.ask('GET', '/inbox?limit=100')
    if (body.messages.length === 0) return
    await Promise.all(
      body.messages.map((/** @type {{ activityId: string }} */ { activityId }) =>
        reader.ask('DELETE', `/inbox/${activityId}`),
      ),
    )
  }
}
