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
import { deliver, undelivered } from './answer-delivery.ts'
import { type Channel, type ChannelEnd, isShut, SendFailure } from './channel.ts'
import { isWaitedFor } from './questions.ts'
import { type NextRequestId, nextRequestId } from './request-ids.ts'
import { RPC, RpcError, toRpcError } from './rpc-error.ts'
import { UnreadableAnswer } from './unreadable-answer.ts'

/** What a server asks of us. Throws an `RpcError`. */
export type ServeRequest = (method: string, params: Params, asking: Asking) => Promise<Params>

export interface Asking {
  /** Aborts when the server does not want to know any more, or is gone. */
  readonly signal: AbortSignal
  /** Resolves when the server has its answer, or wants none any more. Rejects with why it could not be given it. */
  readonly delivery: Promise<void>
  /**
   * Ends the call in whose exchange it was asked, and which waits for the answer; does nothing where that is no call, or is over.
   * Absent where nobody knows in which exchange it was.
   */
  failCall?: ((why: SendFailure) => void) | undefined
}

export interface PeerOptions {
  readonly clock: Pick<Clock, 'after'>
  /** What the server asks of us. */
  serve: ServeRequest
  /** What the server tells us, progress of requests excepted. */
  notice(method: string, params: Params): void
  /**
   * How a request is given up: by telling the server, or by ending the exchange it opened, which is how it is done over
   * HTTP from 2026-07-28 on.
   */
  cancelBy(): 'notification' | 'exchange'
  /** Whether a caller is being asked what the server wants to know. Nobody is where servers do not ask on their own. */
  isAsked?(caller: string): boolean
}

export interface RequestOptions {
  readonly signal: CancelSignal
  onProgress?: ((progress: Progress) => void) | undefined
  /** What the request says in its `_meta`, beside the token of its progress. */
  readonly meta?: Params | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Told when the server answers after the request was given up. */
  onLate?: (() => void) | undefined
  /** Whose it is, if anybody's. */
  readonly caller?: string | undefined
  /** Has whoever made it give it up: it waits for something that does not come. */
  fail?: ((why: SendFailure) => void) | undefined
  /** Whether it is asked of the next one where nobody gets through to this one any more. */
  readonly isForNext?: boolean | undefined
}

/** Speaks JSON-RPC over a channel. Answers that are late, double or to nothing go nowhere. */
export interface Peer {
  /**
   * Rejects with an `RpcError` when the server says no, with an `UnreadableAnswer` when nobody knows what it says, with a
   * `SendFailure` when the way to it broke.
   */
  request(method: string, params: Params, options: RequestOptions): Promise<Params>
  notify(method: string, params?: Params): Promise<void>
  /** Hears of progress by a token that is good for longer than one request, until that is ended. */
  follow(onProgress: (progress: Progress) => void): Following
  /** Takes what comes in. `of`: the request in whose exchange it came, if that is known. */
  receive(message: Message, of?: Id): void
  /** Fails what is under way. */
  end(end: ChannelEnd): void
  /** A request whose exchange ended without an answer. */
  lose(id: Id, reason: string): void
}

export interface Following {
  readonly progressToken: number
  end(): void
}

/** As many as a server may ask at the same time; each may hold a person's attention. */
export const MOST_ASKED = 16

/** As many answers are expected to what was given up: most never come. */
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
        // What a server has not seen it does not do, nor need it be told.
        if (channel().withdraw?.(id)) return onLate?.()
        if (exchange) exchange.cancel(signal.reason)
        // Whoever initialises has nothing to cancel yet.
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
    await notify('notifications/cancelled', { requestId, reason: 'The caller gave up.' }).catch(() => {
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

  /** Looked up when it asks: a call that goes on as a task has another exchange by the time at which the answer fails. */
  function failing(of: Id | undefined): Asking['failCall'] {
    if (of === undefined) return undefined
    const call = typeof of === 'number' ? waiting.get(of) : undefined
    return why => call?.fail?.(why)
  }

  /** The answer would not be let in: nobody is asked for it, and what may wait for it would wait in vain. */
  function leaveUnanswered(request: Request, of: Id | undefined, end: ChannelEnd): void {
    if (!isWaitedFor(request.method, paramsOf(request))) return
    const why = undelivered(notSent(end))
    for (const [id, call] of callsMeant(of)) {
      call.reject(why)
      void cancelled(id)
    }
  }

  /**
   * What a question may be about: the call in whose exchange it came, and otherwise every call, if they are one caller's. With
   * several callers nobody knows whose it is.
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
    // Some servers write as text what was a number.
    const token = Number(progressToken)
    const hear = followed.get(token) ?? waiting.get(token)?.onProgress
    hear?.({
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    })
  }

  /** What a server has let in it may still answer, unless it waits for an answer of ours, which it would not let in. */
  function isOver({ caller, isForNext }: Waiting, end: ChannelEnd): boolean {
    const isAskedOfNext = end.kind === 'unreachable' && isForNext === true
    return !isShut(end) || isAskedOfNext || (caller !== undefined && isAsked?.(caller) === true)
  }

  return {
    request,
    notify,
    follow(onProgress) {
      // Of the same numbers as requests, whose tokens are their ids.
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
        // Of what is out nobody knows what the server has seen.
        const wasSent = channel().withdraw?.(id) ? 'no' : 'maybe'
        one.reject(new SendFailure(end.reason, { wasSent, said: end.said, isOurDoing: end.kind === 'closed' }))
      }
    },
    lose(id, reason) {
      const one = typeof id === 'number' ? waiting.get(id) : undefined
      // There was an exchange, and it was well begun.
      one?.reject(new SendFailure(reason, { wasSent: 'maybe', status: 200 }))
    },
  }
}

/** A server may write anything there. */
function paramsOf({ params }: Request | Notification): Params {
  return isRecord(params) ? params : {}
}

/** The same with what a request says of itself, and a token by which the server tells of progress. */
function withMeta(params: Params, meta: Params | undefined, progressToken: number | undefined): Params {
  if (progressToken === undefined && meta === undefined) return params
  const _meta = progressToken === undefined ? meta : Object.assign({}, meta, { progressToken })
  // Not by spreading: adding to what was spread costs an engine ten times as much.
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
  // It asks too much, and does not listen either: of what it asks that is answered, whoever answers is told.
}

const asResult = (result: Params): Answered => ({ result })
const asError = (error: unknown): Answered => ({ error: toWireError(error) })

/** Tells whoever answers whether that got there. Not everybody wants to know. */
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
