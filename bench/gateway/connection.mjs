// @ts-check
// HTTP/1.1 over one kept connection, one request after the other. A client that costs as much as the server it measures
// would hide how two servers differ; this one costs half of what node:http does.
import { once } from 'node:events'
import { connect } from 'node:net'

/** @typedef {{ head: string, body: string }} Answer */

const NOTHING = Buffer.alloc(0)
const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '0\r\n\r\n'

/** @typedef {{ ask: (request: string) => Promise<Answer>, isOpen: () => boolean, close: () => void }} Connection */

/**
 * @param {string} url
 * @returns {Promise<Connection>}
 */
export async function openConnection(url) {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let received = NOTHING
  /** @type {{ resolve: (answer: Answer) => void, reject: (error: Error) => void } | undefined} */
  let waiting
  socket.on('data', chunk => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const answer = parseAnswer(received)
    if (!answer) return
    received = NOTHING
    waiting?.resolve(answer)
    waiting = undefined
  })
  socket.on('error', error => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error(`${url} closed the connection before its answer was there.`)))
  return {
    ask: request =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(request)
      }),
    isOpen: () => socket.writable && socket.readable,
    close: () => socket.destroy(),
  }
}

/**
 * The answer, when all of it is there.
 * @param {Buffer} bytes
 * @returns {Answer | undefined}
 */
function parseAnswer(bytes) {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  const start = headEnd + HEAD_END.length
  const length = /^content-length: (\d+)/im.exec(head)?.[1]
  if (length !== undefined) {
    const end = start + Number(length)
    return bytes.length < end ? undefined : { head, body: bytes.toString('utf8', start, end) }
  }
  const isWhole = bytes.toString('latin1', Math.max(start, bytes.length - LAST_CHUNK.length)) === LAST_CHUNK
  return isWhole ? { head, body: joinChunks(bytes, start) } : undefined
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 */
function joinChunks(bytes, start) {
  const parts = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (!(size > 0)) return Buffer.concat(parts).toString('utf8')
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
