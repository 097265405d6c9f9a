// @ts-check
// What the bridges have in front: an HTTP server that takes one message with each request.
import { createServer } from 'node:http'

/** @typedef {import('node:http').IncomingMessage} IncomingMessage */
/** @typedef {import('node:http').ServerResponse} ServerResponse */

/**
 * Serves on a free port, and says on which. `/ready` is answered at once.
 * @param {(message: { id: unknown, method?: string }, request: IncomingMessage, response: ServerResponse) => void} onMessage
 */
export function serveMessages(onMessage) {
  const server = createServer((request, response) => {
    if (request.url === '/ready') return response.end()
    /** @type {Buffer[]} */
    const chunks = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => onMessage(JSON.parse(String(Buffer.concat(chunks))), request, response))
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
  })
}

/**
 * @param {ServerResponse} response
 * @param {object} answer
 * @param {Record<string, string>} [more] headers
 */
export function sendAnswer(response, answer, more = {}) {
  const body = JSON.stringify(answer)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...more }
  response.writeHead(200, headers).end(body)
}
