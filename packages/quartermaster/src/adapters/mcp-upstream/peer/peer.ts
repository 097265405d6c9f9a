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
  ChannelFailure,
  isShut,
  type OpenChannel,
  RPC,
  RpcError,
  SendFailure,
  toRpcError,
  UnreadableAnswer,
} from './channel.ts'
import { deliver, needsPerson, undelivered } from './questions.ts'

export type ServeRequest = (method: string, params: Params, asking: IncomingRequest) => Promise<Params>

export interface IncomingRequest {
  /** Aborts when the server no longer wants the answer, or is gone. */
  readonly signal: AbortSignal
  /** Resolves when the server has the answer, or no longer wants one. Rejects if it could not be delivered. */
  readonly delivery: Promise<void>
  /**
   * Fails the call in whose exchange the server asked, and which waits for the answer; does nothing where that is no
   * call, or has ended. Absent where the exchange is unknown.
   */
  failCall?: ((why: SendFailure) => void) | undefined
}

export interface PeerOptions {
  readonly clock: Pick<Clock, 'after'>
  serve: ServeRequest
  onNotification(method: string, params: Params): void
  /** How a request is cancelled: by a notification, or by ending its exchange (HTTP, from 2026-07-28 on). */
  cancelBy(): 'notification' | 'exchange'
  /** Whether a caller has an open question of the server. Absent where servers send no requests. */
  hasOpenQuestion?(caller: string): boolean
}

export interface RequestOptions {
  readonly signal: CancelSignal
  onProgress?: ((progress: Progress) => void) | undefined
  readonly meta?: Params | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  onLate?: (() => void) | undefined
  /** The caller behind it, if any. */
  readonly caller?: string | undefined
  /** Makes the caller cancel the request: what it waits for does not come. */
  fail?: ((why: SendFailure) => void) | undefined
  /** Whether the request is sent over the next connection if this one is unreachable. */
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
  /** Receives progress by a token that outlasts one request, until ended. */
  followProgress(onProgress: (progress: Progress) => void): Following
  /** Handles an incoming message. `of`: the request in whose exchange it came, if known. */
  receive(message: Message, of?: Id): void
  end(end: ChannelEnd): void
  /** The exchange of a request ended without an answer. */
  onExchangeLost(id: Id, reason: string): void
}

interface Following {
  readonly progressToken: number
  end(): void
}

/** Questions that a server may have open; each may need a person's attention. */
export const MOST_OPEN_QUESTIONS = 16

/** Expected late answers; most never come. */
const MOST_LATE = 1_000

interface PendingRequest {
  resolve(result: Params): void
  reject(error: unknown): void
  onProgress: RequestOptions['onProgress']
  caller: RequestOptions['caller']
  fail: RequestOptions['fail']
  isForNext: RequestOptions['isForNext']
}

export function createPeer(
  channel: () => Channel,
  { clock, serve, onNotification, cancelBy, hasOpenQuestion }: PeerOptions,
  nextId: NextRequestId = nextRequestId,
): Peer {
  const pending = new Map<number, PendingRequest>()
  const followed = new Map<number, (progress: Progress) => void>()
  const openQuestions = new Map<string, AbortController>()
  const lateAnswers = new Map<number, () => void>()
  let ended: ChannelEnd | undefined

  function request(method: string, params: Params, options: RequestOptions): Promise<Params> {
    const { signal, onProgress, headers, onLate, meta, caller, fail, isForNext } = options
    if (signal.aborted) return Promise.reject(signal.reason)
    if (ended) return Promise.reject(notSent(ended))
    const id = nextId()
    const exchange = cancelBy() === 'exchange' ? createCancellation() : undefined
    return new Promise((resolve, reject) => {
      const leave = () => {
        pending.delete(id)
        signal.removeEventListener('abort', abort)
      }
      const one: PendingRequest = {
        resolve: result => (leave(), resolve(result)),
        reject: error => (leave(), reject(error)),
        onProgress,
        caller,
        fail,
        isForNext,
      }
      const abort = () => {
        one.reject(signal.reason)
        // A withdrawn request was never seen, so it is neither carried out nor cancelled.
        if (channel().withdraw?.(id)) return onLate?.()
        if (exchange) exchange.cancel(signal.reason)
        // There is nothing to cancel before the initialisation.
        else if (method !== 'initialize') void cancelled(id)
        if (onLate && !exchange) expectLate(id, onLate)
      }
      pending.set(id, one)
      signal.addEventListener('abort', abort, { once: true })
      const sent = channel().send(
        { jsonrpc: '2.0', id, method, params: withMeta(params, meta, onProgress && id) },
        { signal: exchange?.signal, headers },
      )
      // Over HTTP it resolves with the answer.
      sent.catch(error => pending.get(id)?.reject(toSendFailure(error)))
    })
  }

  function expectLate(id: number, onLate: () => void): void {
    const [oldest] = lateAnswers.keys()
    if (oldest !== undefined && lateAnswers.size >= MOST_LATE) lateAnswers.delete(oldest)
    lateAnswers.set(id, onLate)
  }

  function onLateAnswer(id: Id | null): void {
    if (typeof id !== 'number') return
    lateAnswers.get(id)?.()
    lateAnswers.delete(id)
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
    const one = typeof id === 'number' ? pending.get(id) : undefined
    if (!one) return onLateAnswer(id)
    if (error) one.reject(toRpcError(error))
    else if (result instanceof UnreadableAnswer) one.reject(result)
    else if (isRecord(result)) one.resolve(result)
    else one.reject(new UnreadableAnswer('It is no result.'))
  }

  async function answer(request: Request, of: Id | undefined): Promise<void> {
    if (ended) return failUnanswerable(request, of, ended)
    const { id, method } = request
    const key = keyOf(id)
    const reply = (part: AnswerPart) => channel().send({ jsonrpc: '2.0', id, ...part })
    if (openQuestions.size >= MOST_OPEN_QUESTIONS || openQuestions.has(key)) return reply(TOO_MANY).catch(ignoreFailure)
    const controller = new AbortController()
    const { signal } = controller
    openQuestions.set(key, controller)
    const delivery = createDelivery()
    try {
      const asking = { signal, delivery: delivery.promise, failCall: callFailer(of) }
      const part = await serve(method, paramsOf(request), asking).then(asResult, asError)
      const isDelivered = !signal.aborted && (await deliver(() => reply(part), { clock, signal }))
      if (ended && !isDelivered) delivery.failed(notSent(ended))
      else delivery.done()
    } catch (error) {
      delivery.failed(error)
    } finally {
      openQuestions.delete(key)
    }
  }

  /** Looked up when it fails: a call that goes on as a task has another exchange by then. */
  function callFailer(of: Id | undefined): IncomingRequest['failCall'] {
    if (of === undefined) return undefined
    const call = typeof of === 'number' ? pending.get(of) : undefined
    return why => call?.fail?.(why)
  }

  /** The answer would be refused: no person is asked, and the call that the question belongs to would wait in vain. */
  function failUnanswerable(request: Request, of: Id | undefined, end: ChannelEnd): void {
    if (!needsPerson(request.method, paramsOf(request))) return
    const why = undelivered(notSent(end))
    for (const [id, call] of possibleCalls(of)) {
      call.reject(why)
      void cancelled(id)
    }
  }

  /**
   * The calls that a question may belong to: the call of its exchange, otherwise all calls, if they are one caller's.
   * With several callers it is unknown.
   */
  function possibleCalls(of: Id | undefined): readonly (readonly [number, PendingRequest])[] {
    const calls = [...pending].filter(([, { caller }]) => caller !== undefined)
    if (of !== undefined) return calls.filter(([id]) => id === of)
    return new Set(calls.map(([, { caller }]) => caller)).size === 1 ? calls : []
  }

  function onNotified(method: string, params: Params): void {
    if (method === 'notifications/progress') return progressed(params)
    if (method === 'notifications/cancelled') return openQuestions.get(keyOf(params.requestId))?.abort()
    onNotification(method, params)
  }

  function progressed({ progressToken, progress, total, message }: Params): void {
    if (typeof progress !== 'number') return
    // Some servers return a number as text.
    const token = Number(progressToken)
    const hear = followed.get(token) ?? pending.get(token)?.onProgress
    hear?.({
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    })
  }

  /** A shut server may still answer what it accepted, unless it waits for our answer, which it would refuse. */
  function isOver({ caller, isForNext }: PendingRequest, end: ChannelEnd): boolean {
    const isAskedOfNext = end.kind === 'unreachable' && isForNext === true
    return !isShut(end) || isAskedOfNext || (caller !== undefined && hasOpenQuestion?.(caller) === true)
  }

  return {
    request,
    notify,
    followProgress(onProgress) {
      // From the same sequence as requests, whose tokens are their ids.
      const progressToken = nextId()
      followed.set(progressToken, onProgress)
      return { progressToken, end: () => void followed.delete(progressToken) }
    },
    receive(message, of) {
      if (isResponse(message)) answered(message)
      else if (isRequest(message)) void answer(message, of)
      else onNotified(message.method, paramsOf(message))
    },
    end(end) {
      ended ??= end
      lateAnswers.clear()
      const over = [...pending].filter(([, one]) => isOver(one, end))
      for (const controller of openQuestions.values()) controller.abort()
      for (const [id, one] of over) {
        // Whether the server has seen a sent request is unknown.
        const wasSent = channel().withdraw?.(id) ? 'no' : 'maybe'
        one.reject(new SendFailure(end.reason, { wasSent, said: end.said, isOurDoing: end.kind === 'closed' }))
      }
    },
    onExchangeLost(id, reason) {
      const one = typeof id === 'number' ? pending.get(id) : undefined
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

type AnswerPart = Pick<Response, 'result' | 'error'>

const TOO_MANY: AnswerPart = {
  error: { code: RPC.internal, message: `${MOST_OPEN_QUESTIONS} requests at a time are the most.` },
}

function ignoreFailure(): void {
  // The server asks too much, and does not read either.
}

const asResult = (result: Params): AnswerPart => ({ result })
const asError = (error: unknown): AnswerPart => ({ error: toWireError(error) })

/** Reports whether an answer was delivered. */
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

type NextRequestId = () => number

export function createRequestIds(): NextRequestId {
  let last = 0
  return () => ++last
}

/**
 * Shared by all connections of this process. Some servers key requests by id alone, across sessions: with equal ids
 * one agent would get another's answer.
 */
const nextRequestId: NextRequestId = createRequestIds()

/** A channel with a JSON-RPC peer. */
export interface RpcChannel {
  readonly channel: Channel
  readonly peer: Peer
  begin(...request: Parameters<Peer['request']>): Begun
  lastHeardAt(): number
  readonly ended: Promise<ChannelEnd>
  /** Resolves when nothing of the channel is left. */
  close(end?: ChannelEnd): Promise<void>
}

interface Begun {
  readonly id: Id | undefined
  readonly answer: Promise<Params>
}

/** Handles incoming messages. Set after the handshake, which decides its abilities. */
export interface Listener extends Omit<PeerOptions, 'cancelBy' | 'clock'> {
  /** Notifications may have been missed. */
  missed?(): void
}

interface RpcChannelOptions {
  readonly open: OpenChannel
  readonly clock: Clock
  /** Called for every message, so that the listener may be set later. */
  listener(): Listener
  isModern(): boolean
}

const TOOLS_CHANGED = 'notifications/tools/list_changed'
const CLOSED: ChannelEnd = { kind: 'closed', reason: 'The connection was closed.' }

export async function openRpcChannel(
  { open, clock, listener, isModern }: RpcChannelOptions,
  signal: AbortSignal,
): Promise<RpcChannel> {
  const way: { channel?: Channel } = {}
  let heard = clock.now()
  let tell: (end: ChannelEnd) => void = () => {}
  const ended = new Promise<ChannelEnd>(resolve => {
    tell = resolve
  })
  let sentId: Id | undefined
  const outgoing: Channel = {
    ...NOT_OPEN,
    send(message, options) {
      if (isRequest(message)) sentId = message.id
      return (way.channel ?? NOT_OPEN).send(message, options)
    },
    withdraw: id => way.channel?.withdraw?.(id) ?? false,
  }
  const peer = createPeer(() => outgoing, {
    clock,
    serve: (...asked) => listener().serve(...asked),
    onNotification: (...told) => listener().onNotification(...told),
    hasOpenQuestion: caller => listener().hasOpenQuestion?.(caller) === true,
    cancelBy: () => (isModern() && way.channel?.hasExchanges ? 'exchange' : 'notification'),
  })
  function end(why: ChannelEnd): void {
    peer.end(why)
    tell(why)
  }
  const channel = await open(
    {
      onMessage(message, of) {
        heard = clock.now()
        peer.receive(message, of)
      },
      onPart() {
        heard = clock.now()
      },
      onEnd: end,
      onLost: peer.onExchangeLost,
      // Another instance of the server may not have notified of its changes.
      onBroken: () => listener().onNotification(TOOLS_CHANGED, {}),
      onMissed: () => listener().missed?.(),
    },
    signal,
  )
  way.channel = channel
  return {
    channel,
    peer,
    begin(...request) {
      sentId = undefined
      // The request is sent before this returns, or not at all.
      const answer = peer.request(...request)
      return { id: sentId, answer }
    },
    lastHeardAt: () => heard,
    ended,
    async close(why = CLOSED) {
      end(why)
      await channel.close(why)
    },
  }
}

/** A channel may report its end before it was returned. */
const NOT_OPEN: Channel = {
  send: () => Promise.reject(new ChannelFailure({ kind: 'closed', reason: 'The connection is not open yet.' })),
  close: async () => {},
  pids: () => [],
  hasExchanges: false,
}
