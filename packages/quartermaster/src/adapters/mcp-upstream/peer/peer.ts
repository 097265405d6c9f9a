import type { Progress } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, createCancellation } from '../../../core/kernel/index.ts'
import {
  type Id,
  isRecord,
  isRequest,
  isResponse,
  keyOf,
  type Message,
  type Notification,
  type Params,
  type Request,
  type Response,
} from '../../mcp-wire/index.ts'
import {
  type Channel,
  type ChannelEnd,
  isShut,
  RPC,
  RpcError,
  SendFailure,
  toRpcError,
  UnreadableAnswer,
} from './channel.ts'
import { deliver, isWaitedFor, undelivered } from './questions.ts'

/** Handles a server's request. Throws an `RpcError`. */
export type ServeRequest = (method: string, params: Params, asking: Asking) => Promise<Params>

export interface Asking {
  /** Aborts when the server no longer wants the answer, or is gone. */
  readonly signal: AbortSignal
  /** Resolves when the server has its answer, or no longer wants one. Rejects if it could not be delivered. */
  readonly delivery: Promise<void>
  /**
   * Fails the call in whose exchange it was asked, and which waits for the answer; does nothing where that is no call,
   * or has ended. Absent where the exchange is unknown.
   */
  failCall?: ((why: SendFailure) => void) | undefined
}

export interface PeerOptions {
  readonly clock: Pick<Clock, 'after'>
  serve: ServeRequest
  notice(method: string, params: Params): void
  /**
   * How a request is cancelled: by a notification, or by ending its exchange, which is the way over HTTP from
   * 2026-07-28 on.
   */
  cancelBy(): 'notification' | 'exchange'
  /** Whether a caller is being asked a question of the server. Never where servers do not ask on their own. */
  isAsked?(caller: string): boolean
}

export interface RequestOptions {
  readonly signal: CancelSignal
  onProgress?: ((progress: Progress) => void) | undefined
  /** The request's `_meta`, besides the progress token. */
  readonly meta?: Params | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Called when the server answers a cancelled request. */
  onLate?: (() => void) | undefined
  /** The caller behind it, if any. */
  readonly caller?: string | undefined
  /** Makes its caller cancel it: it waits for something that does not come. */
  fail?: ((why: SendFailure) => void) | undefined
  /** Whether it is sent to the next connection if this one is unreachable. */
  readonly isForNext?: boolean | undefined
}

/** Speaks JSON-RPC over a channel. Late, duplicate and unknown answers are dropped. */
export interface Peer {
  /**
   * Rejects with an `RpcError` when the server refuses, with an `UnreadableAnswer` when its answer cannot be used, with
   * a `SendFailure` when the connection failed.
   */
  request(method: string, params: Params, options: RequestOptions): Promise<Params>
  notify(method: string, params?: Params): Promise<void>
  /** Receives progress by a token that outlasts one request, until it is ended. */
  follow(onProgress: (progress: Progress) => void): Following
  /** Handles an incoming message. `of`: the request in whose exchange it came, if known. */
  receive(message: Message, of?: Id): void
  end(end: ChannelEnd): void
  /** A request whose exchange ended without an answer. */
  lose(id: Id, reason: string): void
}

interface Following {
  readonly progressToken: number
  end(): void
}

/** Questions that a server may have open; each may need a person's attention. */
export const MOST_ASKED = 16

/** Late answers to expect: most never come. */
const MOST_LATE = 1_000

interface Waiting {
  resolve(result: Params): void
  reject(error: unknown): void
  onProgress: RequestOptions['onProgress']
  caller: RequestOptions['caller']
  fail: RequestOptions['fail']
  isForNext: RequestOptions['isForNext']
}

export function createPeer(
  channel: () => Channel,
  { clock, serve, notice, cancelBy, isAsked }: PeerOptions,
  nextId: NextRequestId = nextRequestId,
): Peer {
  const waiting = new Map<number, Waiting>()
  const followed = new Map<number, (progress: Progress) => void>()
  const asked = new Map<string, AbortController>()
  const late = new Map<number, () => void>()
  let ended: ChannelEnd | undefined

  function request(method: string, params: Params, options: RequestOptions): Promise<Params> {
    const { signal, onProgress, headers, onLate, meta, caller, fail, isForNext } = options
    if (signal.aborted) return Promise.reject(signal.reason)
    if (ended) return Promise.reject(notSent(ended))
    const id = nextId()
    const exchange = cancelBy() === 'exchange' ? createCancellation() : undefined
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.delete(id)
        signal.removeEventListener('abort', abort)
      }
      const one: Waiting = {
        resolve: result => (leave(), resolve(result)),
        reject: error => (leave(), reject(error)),
        onProgress,
        caller,
        fail,
        isForNext,
      }
      const abort = () => {
        one.reject(signal.reason)
        // A server does not carry out what it has not seen, nor need it be told.
        if (channel().withdraw?.(id)) return onLate?.()
        if (exchange) exchange.cancel(signal.reason)
        // There is nothing to cancel before the initialisation.
        else if (method !== 'initialize') void cancelled(id)
        if (onLate && !exchange) expectLate(id, onLate)
      }
      waiting.set(id, one)
      signal.addEventListener('abort', abort, { once: true })
      const sent = channel().send(
        { jsonrpc: '2.0', id, method, params: withMeta(params, meta, onProgress && id) },
        { signal: exchange?.signal, headers },
      )
      // Over HTTP it resolves with the answer.
      sent.catch(error => waiting.get(id)?.reject(toSendFailure(error)))
    })
  }

  function expectLate(id: number, onLate: () => void): void {
    const [oldest] = late.keys()
    if (oldest !== undefined && late.size >= MOST_LATE) late.delete(oldest)
    late.set(id, onLate)
  }

  function cameLate(id: Id | null): void {
    if (typeof id !== 'number') return
    late.get(id)?.()
    late.delete(id)
  }

  async function cancelled(requestId: number): Promise<void> {
    await notify('notifications/cancelled', { requestId, reason: 'The caller cancelled.' }).catch(() => {
      // A server that is gone has nothing to cancel.
    })
  }

  async function notify(method: string, params?: Params): Promise<void> {
    if (ended && !isShut(ended)) return
    await channel().send(params ? { jsonrpc: '2.0', method, params } : { jsonrpc: '2.0', method })
  }

  function answered({ id, result, error }: Response): void {
    const one = typeof id === 'number' ? waiting.get(id) : undefined
    if (!one) return cameLate(id)
    if (error) one.reject(toRpcError(error))
    else if (result instanceof UnreadableAnswer) one.reject(result)
    else if (isRecord(result)) one.resolve(result)
    else one.reject(new UnreadableAnswer('It is no result.'))
  }

  async function answer(request: Request, of: Id | undefined): Promise<void> {
    if (ended) return leaveUnanswered(request, of, ended)
    const { id, method } = request
    const key = keyOf(id)
    const reply = (part: Answered) => channel().send({ jsonrpc: '2.0', id, ...part })
    if (asked.size >= MOST_ASKED || asked.has(key)) return reply(TOO_MANY).catch(untold)
    const controller = new AbortController()
    const { signal } = controller
    asked.set(key, controller)
    const delivery = createDelivery()
    try {
      const asking = { signal, delivery: delivery.promise, failCall: failing(of) }
      const part = await serve(method, paramsOf(request), asking).then(asResult, asError)
      const isDelivered = !signal.aborted && (await deliver(() => reply(part), { clock, signal }))
      if (ended && !isDelivered) delivery.failed(notSent(ended))
      else delivery.done()
    } catch (error) {
      delivery.failed(error)
    } finally {
      asked.delete(key)
    }
  }

  /** Looked up when it fails: a call that goes on as a task has another exchange by then. */
  function failing(of: Id | undefined): Asking['failCall'] {
    if (of === undefined) return undefined
    const call = typeof of === 'number' ? waiting.get(of) : undefined
    return why => call?.fail?.(why)
  }

  /** The answer would be refused: no person is asked, and the call behind the question would wait in vain. */
  function leaveUnanswered(request: Request, of: Id | undefined, end: ChannelEnd): void {
    if (!isWaitedFor(request.method, paramsOf(request))) return
    const why = undelivered(notSent(end))
    for (const [id, call] of callsMeant(of)) {
      call.reject(why)
      void cancelled(id)
    }
  }

  /**
   * The calls that a question may be about: the call of its exchange, otherwise all calls, if they are one caller's.
   * With several callers it is unknown.
   */
  function callsMeant(of: Id | undefined): readonly (readonly [number, Waiting])[] {
    const calls = [...waiting].filter(([, { caller }]) => caller !== undefined)
    if (of !== undefined) return calls.filter(([id]) => id === of)
    return new Set(calls.map(([, { caller }]) => caller)).size === 1 ? calls : []
  }

  function told(method: string, params: Params): void {
    if (method === 'notifications/progress') return progressed(params)
    if (method === 'notifications/cancelled') return asked.get(keyOf(params.requestId))?.abort()
    notice(method, params)
  }

  function progressed({ progressToken, progress, total, message }: Params): void {
    if (typeof progress !== 'number') return
    // Some servers return a number as text.
    const token = Number(progressToken)
    const hear = followed.get(token) ?? waiting.get(token)?.onProgress
    hear?.({
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    })
  }

  /** A server may still answer what it accepted, unless it waits for our answer, which it would refuse. */
  function isOver({ caller, isForNext }: Waiting, end: ChannelEnd): boolean {
    const isAskedOfNext = end.kind === 'unreachable' && isForNext === true
    return !isShut(end) || isAskedOfNext || (caller !== undefined && isAsked?.(caller) === true)
  }

  return {
    request,
    notify,
    follow(onProgress) {
      // From the same sequence as requests, whose tokens are their ids.
      const progressToken = nextId()
      followed.set(progressToken, onProgress)
      return { progressToken, end: () => void followed.delete(progressToken) }
    },
    receive(message, of) {
      if (isResponse(message)) answered(message)
      else if (isRequest(message)) void answer(message, of)
      else told(message.method, paramsOf(message))
    },
    end(end) {
      ended ??= end
      late.clear()
      const over = [...waiting].filter(([, one]) => isOver(one, end))
      for (const controller of asked.values()) controller.abort()
      for (const [id, one] of over) {
        // Whether the server has seen a sent request is unknown.
        const wasSent = channel().withdraw?.(id) ? 'no' : 'maybe'
        one.reject(new SendFailure(end.reason, { wasSent, said: end.said, isOurDoing: end.kind === 'closed' }))
      }
    },
    lose(id, reason) {
      const one = typeof id === 'number' ? waiting.get(id) : undefined
      // There was an exchange, and it had begun.
      one?.reject(new SendFailure(reason, { wasSent: 'maybe', status: 200 }))
    },
  }
}

/** A server may write anything there. */
function paramsOf({ params }: Request | Notification): Params {
  return isRecord(params) ? params : {}
}

/** Adds a request's metadata and its progress token. */
function withMeta(params: Params, meta: Params | undefined, progressToken: number | undefined): Params {
  if (progressToken === undefined && meta === undefined) return params
  const _meta = progressToken === undefined ? meta : Object.assign({}, meta, { progressToken })
  // Not by spreading: adding to a spread object is ten times as slow.
  return Object.assign({}, params, { _meta })
}

function notSent({ reason, said }: ChannelEnd): SendFailure {
  return new SendFailure(reason, { wasSent: 'no', said })
}

function toSendFailure(error: unknown): SendFailure {
  if (error instanceof SendFailure) return error
  const message = error instanceof Error ? error.message : String(error)
  return new SendFailure(message, { wasSent: 'maybe', cause: error })
}

type Answered = Pick<Response, 'result' | 'error'>

const TOO_MANY: Answered = {
  error: { code: RPC.internal, message: `${MOST_ASKED} requests at a time are the most.` },
}

function untold(): void {
  // It asks too much, and does not read either: callers learn of undelivered answers.
}

const asResult = (result: Params): Answered => ({ result })
const asError = (error: unknown): Answered => ({ error: toWireError(error) })

/** Reports whether an answer arrived. Not every caller needs it. */
function createDelivery(): { readonly promise: Promise<void>; done(): void; failed(why: unknown): void } {
  let settle = { done() {}, failed(_why: unknown) {} }
  const promise = new Promise<void>((done, failed) => {
    settle = { done, failed }
  })
  promise.catch(() => {})
  return { promise, done: () => settle.done(), failed: why => settle.failed(why) }
}

function toWireError(error: unknown): NonNullable<Response['error']> {
  if (!(error instanceof RpcError)) return { code: RPC.internal, message: 'The request could not be served.' }
  const { code, message, data } = error
  return data === undefined ? { code, message } : { code, message, data }
}

/** A number for each request, and none twice. */
type NextRequestId = () => number

export function createRequestIds(): NextRequestId {
  let last = 0
  return () => ++last
}

/**
 * Shared by all connections of this process. Some servers key requests by id alone, across sessions: with equal ids one
 * agent would get another's answer.
 */
const nextRequestId: NextRequestId = createRequestIds()
