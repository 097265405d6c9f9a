// @ts-check

/** More of a text tells nobody more. */
const MOST_CHARACTERS = 160

/**
 * Why an answer is no good: the HTTP status where it is one of failure, the code, and the text.
 * @param {import('../gateway/connection.mjs').Answer} answer
 */
export function reasonIn({ head, body }) {
  const status = /^HTTP\/[\d.]+ ([45]\d\d)/.exec(head)?.[1]
  const { code, text } = faultIn(messageIn(body)) ?? { code: undefined, text: body }
  const parts = [status === undefined ? undefined : `HTTP ${status}`, code, text || 'an empty answer']
  return shortened(parts.filter(part => part !== undefined).join(' '))
}

/**
 * The same of a call that got no answer.
 * @param {unknown} error
 */
export function reasonOf(error) {
  if (!(error instanceof Error)) return shortened(String(error))
  const { code } = /** @type {NodeJS.ErrnoException} */ (error)
  return shortened(code === undefined || error.message.includes(code) ? error.message : `${code} ${error.message}`)
}

/**
 * What is read of a message.
 * @typedef {object} Message
 * @property {{ code?: unknown, message?: unknown, data?: { code?: unknown } }} [error]
 * @property {{ isError?: boolean, content?: { text?: unknown }[], _meta?: Record<string, { code?: unknown }> }} [result]
 */

/**
 * The last message of an answer, which may be a stream of events.
 * @param {string} body
 * @returns {Message | undefined}
 */
function messageIn(body) {
  const last = body.split('\n').findLast(line => line.startsWith('data: {'))
  try {
    return JSON.parse(last?.slice('data: '.length) ?? body)
  } catch {
    // It is no message; its text says all there is.
    return undefined
  }
}

/**
 * @param {Message | undefined} message
 * @returns {{ code: unknown, text: string } | undefined}
 */
function faultIn({ error, result } = {}) {
  if (error) return { code: error.data?.code ?? error.code, text: String(error.message) }
  if (!result?.isError) return undefined
  return { code: result._meta?.['quartermaster/error']?.code, text: String(result.content?.[0]?.text ?? '') }
}

/** Calls that failed alike are counted together, so what differs from one to the next is left out. @param {string} text */
function shortened(text) {
  const alike = text.replace(/\s+/g, ' ').replace(/\b[0-9a-z]*\d[0-9a-z-]{15,}\b/gi, '…')
  return alike.trim().slice(0, MOST_CHARACTERS)
}
