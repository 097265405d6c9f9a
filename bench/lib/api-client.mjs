// @ts-check
import { Agent, request } from 'node:http'

/**
 * What came back. Without a status nothing did: it was refused before it was sent, or the connection ended before the answer.
 * @typedef {object} Answer
 * @property {number} status 0 when there is none
 * @property {any} body
 * @property {string} [failure]
 */

/** @typedef {ReturnType<typeof createApiClient>} ApiClient */

/**
 * A client of the API with a token of its own, on connections that are kept.
 * @param {() => string} url where it is now
 * @param {string} token
 */
export function createApiClient(url, token) {
  const agent = new Agent({ keepAlive: true, maxSockets: 128 })

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<Answer>}
   */
  function ask(method, path, body) {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${token}`,
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    }
    return new Promise(resolve => {
      const failed = (/** @type {Error & { code?: string }} */ error) => {
        // A kept connection may be closed by the other side just when it is used; to read once more changes nothing.
        if (method === 'GET' && sent.reusedSocket && error.code === 'ECONNRESET') resolve(ask(method, path))
        else resolve({ status: 0, body: undefined, failure: error.code ?? error.message })
      }
      const sent = request(`${url()}/api/v1${path}`, { method, agent, headers }, answer => {
        let received = ''
        answer.setEncoding('utf8')
        answer.on('data', chunk => (received += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: parsed(received) }))
        answer.on('error', failed)
      })
      sent.on('error', failed)
      sent.end(text)
    })
  }

  return { ask, close: () => agent.destroy() }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
