import type { Question } from '../../../contracts/index.ts'
import type { CancelSignal, Clock } from '../../../core/kernel/index.ts'
import { MOST_ROUNDS } from '../../../core/operations/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { ACKNOWLEDGED, META, MODERN_VERSION, RPC, RpcError, SendFailure, UnreadableAnswer } from './channel.ts'
import { ownLimits, sizeExcess } from './incoming-message.ts'
import { createModernSubscriptions } from './modern-subscriptions.ts'
import { type Listener, MOST_OPEN_QUESTIONS, type RpcChannel } from './peer.ts'
import { toQuestion, toResponse } from './questions.ts'
import { createRequestAttribution } from './request-attribution.ts'
import type { Answerable, AskOptions, Requester, Session, SessionEvents, SessionFacts } from './session.ts'
import { asBegun, LIST_METHODS, ownMeta, requestPatiently, sessionOver, takeNotice } from './session-parts.ts'

interface ModernParts {
  readonly client: { readonly name: string; readonly version: string }
  readonly clock: Clock
  readonly events: SessionEvents
}

/** A session from 2026-07-28 on: requests are independent, and the server's questions come as answers. */
export function createModernSession(
  rpc: RpcChannel,
  facts: SessionFacts,
  { client, clock, events }: ModernParts,
): { session: Session; listener: Listener } {
  const { peer } = rpc
  const attribution = createRequestAttribution(clock)
  const envelope = createEnvelopes(client)
  const gone = goneWith(rpc)
  const listening = createModernSubscriptions({ rpc, facts, clock, events, envelope: () => envelope(NOTHING) })

  /** One request after the other, until the server has no more questions. */
  async function rounds(
    { method, params }: { readonly method: string; readonly params: Params },
    options: AskOptions,
    onLate: () => void,
  ): Promise<Params> {
    const { signal, onProgress, headers, requester } = options
    const whole = envelope(requester.canAnswer, 'info')
    const own = ownMeta(options)
    const meta = own ? { ...own, ...whole } : whole
    const send = (answered: Params | undefined) =>
      peer.request(method, answered ? { ...params, ...answered } : params, {
        signal,
        onProgress,
        headers,
        onLate,
        meta,
      })
    let answered: Params | undefined
    try {
      for (let round = 0; ; round++) {
        const result = await (round === 0 ? send(answered) : goOn(() => send(answered), signal))
        const type = result.resultType ?? 'complete'
        if (type === 'complete') return result
        if (type !== 'input_required') throw new UnreadableAnswer(`It is of the kind "${shown(type)}".`)
        if (round === MOST_ROUNDS) throw strange(`It asked back more than ${MOST_ROUNDS} times.`)
        answered = await answerAll(result, requester, gone)
      }
    } finally {
      // After the end of its exchange nothing more arrives.
      if (rpc.channel.hasExchanges) onLate()
    }
  }

  /** The server has seen the first round, so nothing from here on counts as not sent. */
  function goOn(send: () => Promise<Params>, signal: CancelSignal): Promise<Params> {
    const mayRepeat = ({ wasSent }: SendFailure) => wasSent === 'no'
    return requestPatiently(send, { clock, signal, mayRepeat }).catch(error => {
      throw error instanceof SendFailure && error.wasSent !== 'refused' ? asBegun(error) : error
    })
  }

  const probe = (signal: AbortSignal) => peer.request('server/discover', { _meta: envelope(NOTHING) }, { signal })
  const session: Session = {
    ...sessionOver({ rpc, attribution, facts, probe }),
    page: (kind, cursor, signal) => {
      const params = { ...(cursor === undefined ? {} : { cursor }), _meta: envelope(NOTHING) }
      return attribution.trackOwn(onLate =>
        peer.request(LIST_METHODS[kind], params, { signal, onLate, isForNext: true }),
      )
    },
    ask(method, params, options) {
      const { signal, requester, ownerTimeoutMs } = options
      if (signal.aborted) return Promise.reject(signal.reason)
      return attribution.track(requester, onLate => rounds({ method, params }, options, onLate), ownerTimeoutMs)
    },
    subscribeTo: listening.watch,
    listeningSince: listening.since,
    async close(end) {
      listening.stop()
      await rpc.close(end)
    },
  }
  const notice = (method: string, params: Params) => {
    if (method === ACKNOWLEDGED) listening.acknowledged(params)
    else takeNotice(method, params, { attribution, events })
  }
  return { session, listener: { serve: refuse, onNotification: notice } }
}

const NOTHING: Answerable = { form: false, url: false, model: false, roots: false }

/** The envelope of requests, made once for all callers with the same abilities. */
function createEnvelopes(client: ModernParts['client']): (can: Answerable, logLevel?: 'info') => Params {
  const made = new Map<string, Params>()
  return (can, logLevel) => {
    const key = `${can.form} ${can.url} ${can.model} ${can.roots} ${logLevel}`
    const known = made.get(key)
    if (known) return known
    const envelope = { ...envelopeFor(client, can), ...(logLevel === undefined ? {} : { [META.logLevel]: logLevel }) }
    made.set(key, envelope)
    return envelope
  }
}

/** Metadata that every request carries. */
export function envelopeFor(client: ModernParts['client'], can: Answerable): Params {
  return {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientInfo]: client,
    [META.clientCapabilities]: {
      ...(can.form || can.url
        ? { elicitation: { ...(can.form ? { form: {} } : {}), ...(can.url ? { url: {} } : {}) } }
        : {}),
      ...(can.model ? { sampling: {} } : {}),
      ...(can.roots ? { roots: {} } : {}),
    },
  }
}

/** In this era servers send no requests. */
async function refuse(method: string): Promise<never> {
  throw new RpcError({ code: RPC.methodNotFound, message: `There is no "${method}" here.` })
}

/** Aborts when no caller is left to be told an answer. The request was in progress. */
function goneWith({ ended }: RpcChannel): AbortSignal {
  const controller = new AbortController()
  void ended.then(({ kind, reason, said }) => {
    const facts = { wasSent: 'maybe', said, isOurDoing: kind === 'closed' } as const
    controller.abort(new SendFailure(reason, facts))
  })
  return controller.signal
}

/** Questions of one answer are asked at the same time. */
async function answerAll(
  { inputRequests, requestState }: Params,
  requester: Requester,
  signal: AbortSignal,
): Promise<Params> {
  const asked = Object.entries(isRecord(inputRequests) ? inputRequests : {})
  // Each is open until it is answered, like those of a server that asks by requests.
  if (asked.length > MOST_OPEN_QUESTIONS)
    throw strange(`It asked ${asked.length} questions at once. ${MOST_OPEN_QUESTIONS} are the most.`)
  const answers = await Promise.all(
    asked.map(async ([key, request]) => {
      const question = questionIn(key, request)
      return [key, toResponse(question, await requester.ask(question, signal))] as const
    }),
  )
  return {
    ...(answers.length > 0 ? { inputResponses: Object.fromEntries(answers) } : {}),
    ...(typeof requestState === 'string' ? { requestState } : {}),
  }
}

function questionIn(key: string, request: unknown): Question {
  const { method, params } = isRecord(request) ? request : {}
  const excess = typeof method === 'string' ? sizeExcess(request, ownLimits(method)) : undefined
  if (excess) throw strange(`It asked with "${shown(method)}". This cannot be asked: ${excess}.`)
  const question = typeof method === 'string' ? readQuestion(method, isRecord(params) ? params : {}, key) : undefined
  if (!question) throw strange(`It asked for something that is unknown here: "${shown(method)}".`)
  return question
}

function readQuestion(...asked: Parameters<typeof toQuestion>): Question | undefined {
  try {
    return toQuestion(...asked)
  } catch (error) {
    // The server did not say so.
    throw error instanceof RpcError ? strange(`It asked with "${asked[0]}". ${error.message}`) : error
  }
}

/** A word of the server, which may be anything. */
function shown(word: unknown): string {
  return typeof word === 'string' ? excerptOf(word) : typeof word
}

function strange(message: string): RpcError {
  return new RpcError({ code: RPC.internal, message })
}
