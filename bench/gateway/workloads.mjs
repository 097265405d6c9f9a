// @ts-check
// What is asked over and over, as it is on the wire, and what a right answer is.
import { openConnection } from './connection.mjs'

/** @typedef {import('./connection.mjs').Answer} Answer */
/** @typedef {import('../lib/stage.mjs').Contender} Contender */

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

/** How a session is opened. */
export const INITIALIZE = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT },
}
export const INITIALIZED = { method: 'notifications/initialized' }

/**
 * A tool that is called with another input every time, so that an answer can be told from that to another call.
 * @typedef {object} CalledTool
 * @property {string} name
 * @property {(n: number) => object} inputOf
 * @property {(result: Result, n: number) => boolean} isRight
 * @property {(n: number) => object} [metaOf] what is in `_meta` beside the rest
 */

/** @type {CalledTool} */
export const ADD = {
  name: 'add',
  inputOf: n => ({ a: n, b: 0.5 }),
  isRight: ({ structuredContent }, n) => structuredContent?.sum === n + 0.5,
}

/**
 * Calls of `add`, each with other numbers.
 * @param {Contender} contender
 */
export const addCalls = contender => toolCalls(contender, ADD)

/**
 * The same in a session, from before there were none.
 * @param {Contender} contender
 * @param {string} path
 */
export const addCallsInSession = (contender, path) => toolCallsInSession(contender, path, ADD)

/**
 * @param {Contender} contender
 * @param {CalledTool} tool
 */
export function toolCalls(contender, tool) {
  return callsBy(modernPost(contender, 'tools/call', tool.name), tool, MODERN_META)
}

/**
 * @param {Contender} contender
 * @param {string} path
 * @param {CalledTool} tool
 */
export async function toolCallsInSession(contender, path, tool) {
  return callsBy(createPost(contender, path, await openSession(contender, path)), tool, {})
}

/**
 * Calls as messages alone, for a way that needs nothing around them.
 * @param {CalledTool} tool
 * @param {{ isModern: boolean }} options
 */
export function bareToolCalls(tool, { isModern }) {
  return callsBy(message => JSON.stringify({ jsonrpc: '2.0', ...message }), tool, isModern ? MODERN_META : {})
}

/**
 * @param {Post} post
 * @param {CalledTool} tool
 * @param {object} meta
 * @returns {Workload}
 */
function callsBy(post, { name, inputOf, isRight, metaOf }, meta) {
  let n = 0
  return () => {
    const id = ++n
    const params = { name, arguments: inputOf(id), _meta: metaOf ? { ...meta, ...metaOf(id) } : meta }
    return {
      text: post({ id, method: 'tools/call', params }),
      isRight(answer) {
        const result = lastMessage(answer)?.result
        return result !== undefined && isRight(result, id)
      },
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

/** @typedef {(message: object) => string} Post */

/**
 * Makes requests that differ only in their body.
 * @param {Contender} contender
 * @param {string} path
 * @param {Record<string, string>} [more] headers
 * @returns {Post}
 */
export function createPost({ server, token }, path, more = {}) {
  const headers = {
    host: new URL(server.url).host,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...more,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}`
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
  const { head } = await connection.ask(createPost(contender, path)(INITIALIZE))
  const session = /^mcp-session-id: (.+)$/im.exec(head)?.[1]?.trim()
  if (session === undefined) throw new Error(`${contender.name} opened no session: ${head}`)
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': LEGACY }
  await connection.ask(createPost(contender, path, headers)(INITIALIZED))
  connection.close()
  return headers
}

/** @typedef {{ structuredContent?: Record<string, unknown>, content?: { text?: string }[], tools?: unknown[] }} Result */
/** @typedef {{ result?: Result }} Reply */

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
