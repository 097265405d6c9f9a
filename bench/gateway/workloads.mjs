// @ts-check
// What is asked over and over, as it is on the wire, and what a right answer is.
import { openConnection } from './connection.mjs'

/** @typedef {import('./connection.mjs').Answer} Answer */
/** @typedef {import('./contenders.mjs').Contender} Contender */

/** One request, and whether an answer to it is right. @typedef {{ text: string, isRight: (answer: Answer) => boolean }} Exchange */
/** Gives the next request. @typedef {() => Exchange} Workload */

const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'
const STEPS = 3
const CLIENT = { name: 'bench', version: '1.0.0' }
const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
}

/**
 * Calls of `add`, each with other numbers.
 * @param {Contender} contender
 * @returns {Workload}
 */
export function addCalls(contender) {
  return additions(modernPost(contender, 'tools/call', 'add'), MODERN_META)
}

/**
 * The same in a session, from before there were none.
 * @param {Contender} contender
 * @param {string} path
 * @returns {Promise<Workload>}
 */
export async function addCallsInSession(contender, path) {
  return additions(createPost(contender, path, await openSession(contender, path)), {})
}

/**
 * @param {Post} post
 * @param {object} _meta
 * @returns {Workload}
 */
function additions(post, _meta) {
  let n = 0
  return () => {
    const id = ++n
    const params = { name: 'add', arguments: { a: id, b: 0.5 }, _meta }
    return {
      text: post({ id, method: 'tools/call', params }),
      isRight: answer => lastMessage(answer)?.result?.structuredContent?.sum === id + 0.5,
    }
  }
}

/**
 * Calls that tell of their progress, so that the answer is a stream.
 * @param {Contender} contender
 * @returns {Workload}
 */
export function walkCalls(contender) {
  const post = modernPost(contender, 'tools/call', 'walk')
  let n = 0
  return () => {
    const id = ++n
    const params = { name: 'walk', arguments: { steps: STEPS }, _meta: { ...MODERN_META, progressToken: id } }
    return {
      text: post({ id, method: 'tools/call', params }),
      isRight: answer =>
        messagesOf(answer).length === STEPS + 1 && lastMessage(answer)?.result?.structuredContent?.walked === STEPS,
    }
  }
}

/**
 * Whole lists of tools.
 * @param {Contender} contender
 * @param {number} tools how many there are
 * @returns {Workload}
 */
export function toolLists(contender, tools) {
  const post = modernPost(contender, 'tools/list')
  let n = 0
  return () => ({
    text: post({ id: ++n, method: 'tools/list', params: { _meta: MODERN_META } }),
    isRight: answer => lastMessage(answer)?.result?.tools?.length === tools,
  })
}

/**
 * From 2026-07-28 on headers say again what the body says.
 * @param {Contender} contender
 * @param {string} method
 * @param {string} [name]
 */
function modernPost(contender, method, name) {
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': method }
  return createPost(contender, '/mcp', name === undefined ? headers : { ...headers, 'mcp-name': name })
}

/** @typedef {ReturnType<typeof createPost>} Post */

/**
 * Makes requests that differ only in their body.
 * @param {Contender} contender
 * @param {string} path
 * @param {Record<string, string>} [more] headers
 */
function createPost({ server, token }, path, more = {}) {
  const headers = {
    host: new URL(server.url).host,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...more,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}`
  /** @param {object} message */
  return message => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }
}

/**
 * Opens a session and gives the headers that belong to it.
 * @param {Contender} contender
 * @param {string} path
 */
async function openSession(contender, path) {
  const connection = await openConnection(contender.server.url)
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT }
  const { head } = await connection.ask(createPost(contender, path)({ id: 0, method: 'initialize', params }))
  const session = /^mcp-session-id: (.+)$/im.exec(head)?.[1]?.trim()
  if (session === undefined) throw new Error(`${contender.name} opened no session: ${head}`)
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': LEGACY }
  await connection.ask(createPost(contender, path, headers)({ method: 'notifications/initialized' }))
  connection.close()
  return headers
}

/** @typedef {{ result?: { structuredContent?: Record<string, unknown>, tools?: unknown[] } }} Reply */

/**
 * @param {Answer} answer
 * @returns {Reply | undefined}
 */
function lastMessage(answer) {
  const text = messagesOf(answer).at(-1)
  return text === undefined ? undefined : JSON.parse(text)
}

/**
 * The messages of an answer, whether it is one or a stream.
 * @param {Answer} answer
 */
function messagesOf({ head, body }) {
  if (!/^content-type: text\/event-stream/im.test(head)) return [body]
  return body.split('\n').flatMap(line => (line.startsWith('data: {') ? [line.slice('data: '.length)] : []))
}
