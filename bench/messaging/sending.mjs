// @ts-check
import { figure, figureOfRounds } from '../lib/figure.mjs'
import { profileOf } from '../lib/stage.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { crowd } from '../operations/crowd.mjs'
import { openDirect } from './direct.mjs'
import { onStage } from './stage.mjs'
import { clientsOf } from './tokens.mjs'

/**
 * Messages of one agent to another over HTTP by so many senders at once, in turns with as many direct commits.
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
    const send = async () => {
      const { status, body } = await ada.ask('POST', '/messages', { to: 'bob', text: 'So it is.' })
      if (status !== 201) throw new Error(`It was not sent: ${JSON.stringify(body)}`)
    }
    await crowd({ count: warmUp, inFlight: 4 }, send)
    await emptied(bob)
    await server.profiler?.start()
    const figures = []
    for (const inFlight of senders) {
      const measured = []
      for (let round = 0; round < rounds; round++) {
        const cpu = server.usage().cpuUs
        const sent = await crowd({ count: messages, inFlight }, send)
        const cpuUs = (server.usage().cpuUs - cpu) / messages
        measured.push({ sent, cpuUs, bare: await crowd({ count: messages, inFlight }, direct.commit) })
        // No inbox takes any number of them.
        await emptied(bob)
      }
      figures.push(...figuresOf(inFlight, measured))
    }
    await server.profiler?.stop()
    await direct.close()
    return figures
  })
}

/** @typedef {import('../operations/crowd.mjs').Round} Round */

/** @param {number} inFlight @param {readonly { sent: Round, bare: Round, cpuUs: number }[]} measured */
function figuresOf(inFlight, measured) {
  const what = `${inFlight} ${inFlight === 1 ? 'sender' : 'senders'}`
  const all = measured.flatMap(({ sent }) => sent.latenciesUs)
  const rate = (/** @type {'sent' | 'bare'} */ kind) => median(measured.map(one => one[kind].perSecond))
  return [
    figureOfRounds(
      what,
      measured.map(({ sent }) => sent.perSecond),
      'messages/s',
    ),
    figure(`${what}, p50`, median(all) / 1_000, 'ms'),
    figure(`${what}, p99`, p99(all) / 1_000, 'ms'),
    figure(`${what}, processor time of each`, median(measured.map(({ cpuUs }) => cpuUs)), 'µs'),
    figure(`${what}, direct commits in the time of one message`, rate('bare') / rate('sent'), 'times'),
  ]
}

/** @param {import('../lib/api-client.mjs').ApiClient} reader */
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
