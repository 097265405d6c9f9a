// @ts-check
// The least that can stand between an HTTP client and an HTTP server: node http-bridge.mjs URL. It reads every message and
// every answer once and passes them on over connections that stay. No tokens, no checks, no sessions, one era.
import { Pool } from 'undici'
import { sendAnswer, serveMessages } from './messages.mjs'

const behind = new URL(process.argv[2] ?? '')
const pool = new Pool(behind.origin)

/** What a message says of itself for whoever reads no bodies. */
const PASSED_ON = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

/** @param {import('node:http').IncomingHttpHeaders} given */
function headersFor(given) {
  /** @type {Record<string, string>} */
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  for (const name of PASSED_ON) if (given[name] !== undefined) headers[name] = String(given[name])
  return headers
}

/**
 * @param {string} body
 * @param {Record<string, string>} headers
 * @param {import('node:http').ServerResponse} response
 */
function passOn(body, headers, response) {
  /** @type {Buffer[]} */
  const chunks = []
  pool.dispatch(
    { method: 'POST', path: behind.pathname, headers, body },
    {
      onRequestStart() {},
      onResponseStart() {},
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => sendAnswer(response, JSON.parse(String(Buffer.concat(chunks)))),
      onResponseError: (_, error) => void response.writeHead(502).end(error.message),
    },
  )
}

serveMessages((message, { headers }, response) => passOn(JSON.stringify(message), headersFor(headers), response))

process.on('SIGTERM', () => process.exit(0))
