import type { HeaderReader } from './header-reader.ts'

/** A `tools/call` whose parts are all of the kind they should be. What may stand in `_meta` depends on the era. */
export interface CallMessage {
  readonly id: string | number
  readonly params: {
    readonly name: string
    readonly arguments?: Record<string, unknown>
    readonly _meta?: unknown
  }
}

const METHOD = 'tools/call'
const CHANGING: ReadonlySet<string> = new Set([METHOD, 'tasks/update', 'tasks/cancel'])
const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params'])

export function isCallMessage(body: unknown): body is CallMessage {
  if (!isObject(body) || body.jsonrpc !== '2.0' || body.method !== METHOD || !hasOnly(body, MEMBERS)) return false
  const { id, params } = body
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return false
  if (!isObject(params) || typeof params.name !== 'string') return false
  return params.arguments === undefined || isObject(params.arguments)
}

/** Whether something may be different after a message, or after one of several. All others can simply be asked again. */
export function mayChange(body: unknown): boolean {
  if (Array.isArray(body)) return body.some(mayChange)
  return isObject(body) && typeof body.method === 'string' && CHANGING.has(body.method)
}

/** Whether a message asks for something new. What belongs to a call that runs is none: its answers, polls and notices. */
export function beginsSomething(body: unknown): boolean {
  if (Array.isArray(body)) return body.some(beginsSomething)
  if (!isObject(body) || typeof body.method !== 'string' || body.id === undefined) return false
  if (body.method === 'ping' || body.method.startsWith('tasks/')) return false
  return !(isObject(body.params) && 'requestState' in body.params)
}

/** Whether it opens a stream on which the client only listens. */
export function isListening(body: unknown): boolean {
  return isObject(body) && body.method === 'subscriptions/listen'
}

/** The id that its answer has. */
export function idOf(body: unknown): string | number | null {
  const id = isObject(body) ? body.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** Whether the client sends JSON, and takes both kinds of answers. */
export function speaksJson(headers: HeaderReader): boolean {
  const accept = headers.get('accept') ?? ''
  return (
    /^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '') &&
    accept.includes('application/json') &&
    accept.includes('text/event-stream')
  )
}

/** Whether `_meta` asks for progress as it should, or not at all. */
export function isProgressToken(token: unknown): boolean {
  return token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
}

export function hasOnly(value: Record<string, unknown>, known: ReadonlySet<string>): boolean {
  return Object.keys(value).every(key => known.has(key))
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
