// @ts-check
// HTTP as it was before streamable HTTP: requests are posted, answers come on a stream that was opened first.
import { once } from 'node:events'
import { get } from 'node:http'
import { createInterface } from 'node:readline'
import { openConnection } from '../gateway/connection.mjs'
import { createPost, INITIALIZE, INITIALIZED } from '../gateway/workloads.mjs'
import { createAnswers } from './pipe.mjs'

/** @typedef {import('../gateway/connection.mjs').Connection} Connection */
/** @typedef {import('../lib/stage.mjs').Contender} Contender */

const DATA = 'data: '

/**
 * Opens a session of its own.
 * @param {Pick<Contender, 'name' | 'server'>} contender
 * @param {string} path
 * @returns {Promise<Connection>}
 */
export async function openEventConnection(contender, path) {
  const { url } = contender.server
  const request = get(`${url}${path}`, { headers: { accept: 'text/event-stream' }, agent: false })
  const [stream] = await once(request, 'response')
  const answers = createAnswers()
  const lines = createInterface({ input: stream })
  // That it ends is seen where answers are awaited.
  lines.on('error', () => {})
  const endpoint = await new Promise(resolve => {
    lines.on('line', line => {
      if (line.startsWith(`${DATA}{`)) answers.hear(line.slice(DATA.length))
      else if (line.startsWith(DATA)) resolve(line.slice(DATA.length))
    })
  })
  const out = await openConnection(url)
  const post = createPost(contender, endpoint)
  /** @type {Connection} */
  const connection = {
    async ask(text) {
      const answer = answers.to(text)
      await out.ask(post(JSON.parse(text)))
      return answer
    },
    isOpen: out.isOpen,
    close() {
      out.close()
      request.destroy()
    },
  }
  await connection.ask(JSON.stringify({ jsonrpc: '2.0', ...INITIALIZE }))
  await out.ask(post(INITIALIZED))
  return connection
}
