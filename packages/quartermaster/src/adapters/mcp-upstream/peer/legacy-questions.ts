import { type Answer, AppError, isAppError, type Question } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { beforeAbort, pause } from './abort.ts'
import { RPC, RpcError } from './channel.ts'
import type { Asking, ServeRequest } from './peer.ts'
import { type Asked, declined, isAnswerable, kindAsked, toQuestion, toResponse, undelivered } from './questions.ts'
import { CANCELLED_WORK_MS, type OpenRequest, type RequestAttribution } from './request-attribution.ts'
import type { Behind, SessionEvents } from './session.ts'

/** Passes on questions of a server before 2026-07-28, which does not say for which request it asks. */
interface LegacyQuestions {
  serve: ServeRequest
  /** Pauses the timeout of a request that begins while its caller is being asked: it may depend on the answer. */
  holdBack(behind: Behind): void
  /** Whether a caller is being asked something. */
  isAsked(caller: string): boolean
}

interface LegacyQuestionsDeps {
  readonly clock: Clock
  readonly events: Pick<SessionEvents, 'onCrowded'>
  readonly attribution: RequestAttribution
  readonly declinedQuestions: DeclinedQuestions
}

/**
 * Related questions arrive one by one; those within this time are passed on together. Longer than a busy machine takes
 * between two of them, shorter than a person would notice.
 */
export const GATHER_MS = 50

export function createLegacyQuestions({
  clock,
  events,
  attribution,
  declinedQuestions,
}: LegacyQuestionsDeps): LegacyQuestions {
  const beingAsked = new Set<{ readonly behind: Behind }>()
  /** For each open question: what pauses the timeout of a call that may depend on the answer. */
  const holds = new Set<(behind: Behind) => void>()
  let gathering: Promise<void> | undefined

  async function serve(method: string, params: Params, asking: Asking): Promise<Params> {
    if (method === 'ping') return {}
    const kind = kindAsked(method, params) ?? refuseUnknown(method)
    if (kind !== 'roots') asking.delivery.catch(why => asking.failCall?.(undelivered(why)))
    const answered = attribution.asked()
    try {
      return await answer({ kind }, () => toQuestion(method, params) ?? refuseUnknown(method), asking)
    } finally {
      answered()
    }
  }

  /** A server may ask without any call. Its question is read only where a call may depend on it. */
  async function answer(asked: Asked, read: () => Question, asking: Asking): Promise<Params> {
    const { signal } = asking
    const meant = attribution.meant()
    if (meant === 'several') {
      noteCrowded(asked)
      events.onCrowded()
      return declined(asked)
    }
    // The newest request is the likeliest to have asked. Older ones may have waited for a person for minutes, and are
    // asked only if the newest has left meanwhile.
    const [newest] = meant
    if (!newest) return declined(asked)
    untilDelivered(newest, asked, asking)
    const question = read()
    if (!isAnswerable(question, newest.behind.canAnswer)) {
      await noteUnanswered(question, newest)
      return declined(question)
    }
    return whilePaused(meant, async () => {
      await whileAsked(newest.behind, gatheredFor(newest, signal))
      return askOneOf(meant, question, asking)
    })
  }

  /**
   * Any of them may depend on the question, and so may later requests of the same caller: none proceeds before it is
   * answered.
   */
  async function whilePaused<T>(meant: readonly OpenRequest[], asking: () => Promise<T>): Promise<T> {
    const resumes: (() => void)[] = []
    const hold = (behind: Behind) => {
      if (behind.pauseRun && behind.caller === meant[0]?.behind.caller) resumes.push(behind.pauseRun())
    }
    for (const { behind } of meant) hold(behind)
    holds.add(hold)
    try {
      return await asking()
    } finally {
      holds.delete(hold)
      for (const resume of resumes) resume()
    }
  }

  async function askOneOf(meant: readonly OpenRequest[], question: Question, asking: Asking): Promise<Params> {
    const { signal } = asking
    for (const one of meant.filter(({ behind }) => isAnswerable(question, behind.canAnswer))) {
      if (one !== meant[0]) untilDelivered(one, question, asking)
      const answering = askWhileUnderWay(question, one, signal).catch(why => {
        if (signal.aborted) throw why
        return afterAll(question, one, why)
      })
      const given = await whileAsked(one.behind, answering)
      if (given) return toResponse(question, given)
    }
    return toResponse(question, { action: 'cancel' })
  }

  /** It may turn out that no client can answer this, or that no answer fits. Then no decision was made. */
  function afterAll(question: Question, { behind }: OpenRequest, why: unknown): Answer {
    if (!isAppError(why)) throw why
    if (why.code === 'DEFINITION_INVALID')
      throw new RpcError({ code: RPC.invalidParams, message: `This cannot be asked. ${why.message}` })
    if (question.kind !== 'roots') declinedQuestions.note(behind, why, { isSure: attribution.isAlone() })
    return { action: 'cancel' }
  }

  /** A caller may be asked several questions at a time. */
  function whileAsked<T>(behind: Behind, asking: Promise<T>): Promise<T> {
    const asked = { behind }
    beingAsked.add(asked)
    return asking.finally(() => beingAsked.delete(asked))
  }

  /**
   * A question is open until the server has the answer. Roots are answered without a person, and no call waits for
   * them. With several requests open, only the exchange of the question tells which of them waits.
   */
  function untilDelivered({ behind, fail }: OpenRequest, { kind }: Asked, { delivery, failCall }: Asking): void {
    const isSure = kind !== 'roots' && failCall === undefined && attribution.isAlone()
    whileAsked(behind, delivery).catch(why => {
      if (isSure) fail(undelivered(why))
    })
  }

  function isBeingAsked(is: (behind: Behind) => boolean): boolean {
    return [...beingAsked].some(({ behind }) => is(behind))
  }

  /** Each of them may have been meant, except those with an open question. */
  function noteCrowded(asked: Asked): void {
    if (asked.kind === 'roots') return
    const possible = attribution
      .underWay()
      .filter(({ behind }) => isAnswerable(asked, behind.canAnswer) && !isBeingAsked(one => one === behind))
    for (const { behind } of possible) declinedQuestions.noteCrowded(behind)
  }

  /** Roots are answered without a person. */
  async function noteUnanswered(question: Question, one: OpenRequest): Promise<void> {
    if (question.kind === 'roots') return
    const isSure = attribution.isAlone()
    await one.behind.ask(question, one.left()).catch(why => declinedQuestions.note(one.behind, why, { isSure }))
  }

  /** After its call has ended, nothing more belongs to a question, which would block others. */
  async function gatheredFor({ left }: OpenRequest, signal: AbortSignal): Promise<void> {
    await beforeAbort(gathered(), AbortSignal.any([signal, left()])).catch(why => {
      if (signal.aborted) throw why
    })
  }

  /** A client from 2026-07-28 on gets questions asked together as one answer, and returns once. */
  function gathered(): Promise<void> {
    gathering ??= pause(GATHER_MS, { clock }).then(() => {
      gathering = undefined
    })
    return gathering
  }

  return {
    serve,
    holdBack(behind) {
      for (const hold of holds) hold(behind)
    },
    isAsked: caller => isBeingAsked(behind => behind.caller === caller),
  }
}

function refuseUnknown(method: string): never {
  throw new RpcError({ code: RPC.methodNotFound, message: `There is no "${excerptOf(method)}" here.` })
}

/** The answer, while the server still wants it; nothing once no caller waits for the request behind the question. */
async function askWhileUnderWay(
  question: Question,
  { behind, left }: OpenRequest,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const wanted = AbortSignal.any([signal, left()])
  try {
    wanted.throwIfAborted()
    return await beforeAbort(behind.ask(question, wanted), wanted)
  } catch (error) {
    if (signal.aborted || !left().aborted) throw error
    return undefined
  }
}

/**
 * Records for which requests a server's question was declined: the caller cannot answer such a question, or it was
 * unknown which of several clients it was for, possibly one with a cancelled call.
 */
interface DeclinedQuestions {
  /** `isSure`: this request asked. Otherwise another of the same caller may have. */
  note(behind: Behind, why: unknown, options: { readonly isSure: boolean }): void
  /** The question may have been about this request, or one of another client, open or cancelled not long ago. */
  noteCrowded(behind: Behind): void
  /** What to say about a request that ended with an error: also which ability its client would need. */
  reasonFor(behind: Behind, failure: string): AppError | undefined
  /**
   * The result of a request. Whether it failed for lack of the answer is unknown, so a failure of a request that
   * certainly asked gets a note about the declined question. Where other clients prevented the question, every result
   * gets one: it would be taken for the person's refusal, and it is unknown whose call asked.
   */
  addTo(result: Params, behind: Behind): Params
  /** The same for a call that ended with an error while other clients prevented the question: it need not be final. */
  failureOf(error: RpcError, behind: Behind): Params | undefined
}

export function createDeclinedQuestions(): DeclinedQuestions {
  const reasons = new WeakMap<Behind, { readonly why: AppError; readonly isSure: boolean }>()
  const crowded = new WeakSet<Behind>()
  return {
    noteCrowded(behind) {
      crowded.add(behind)
    },
    note(behind, why, { isSure }) {
      if (isAppError(why) && why.code === 'ANSWER_UNAVAILABLE') reasons.set(behind, { why, isSure })
    },
    reasonFor(behind, failure) {
      const reason = reasons.get(behind)?.why
      if (!reason) return undefined
      const message = `${reason.message} Without an answer it failed: ${excerptOf(failure, MOST_TOLD)}`
      const { details } = reason
      return new AppError('ANSWER_UNAVAILABLE', message, { cause: reason, ...(details ? { details } : {}) })
    },
    addTo(result, behind) {
      const { isError, content } = result
      if (!Array.isArray(content)) return result
      const noted = reasons.get(behind)
      if (noted?.isSure && isError === true)
        return withText(result, content, `No client could answer its question. ${noted.why.message}`)
      return crowded.has(behind) ? withText(result, content, CROWDED) : result
    },
    failureOf({ code, message }, behind) {
      if (!crowded.has(behind) || MEANINGFUL.has(code)) return undefined
      return withText({ isError: true }, [{ type: 'text', text: message }], CROWDED)
    },
  }
}

/** These say what to do before the call can succeed. */
const MEANINGFUL: ReadonlySet<number> = new Set([RPC.urlElicitationRequired, RPC.missingCapability])

const GIVEN_UP_MINUTES = CANCELLED_WORK_MS / 60_000

const CROWDED =
  'While this was under way its server asked a question, which was declined automatically: it does not say for which call ' +
  'it asks, and a call of another client was under way too, or was cancelled less than ' +
  `${GIVEN_UP_MINUTES} minutes before and may still be at work. If a refusal is spoken of here, no person refused; the next ` +
  'call may get through, once no other client of the same agent has one under way, and ' +
  `${GIVEN_UP_MINUTES} minutes after the last one was cancelled.`

function withText(result: Params, content: readonly unknown[], text: string): Params {
  return { ...result, content: [...content, { type: 'text', text }] }
}

const MOST_TOLD = 500

/**
 * The text of a result that reports a failure and nothing else. A structured result is an answer that its tool has
 * prepared, whatever it could not ask.
 */
export function bareFailureIn({ isError, content, structuredContent }: Params): string | undefined {
  if (isError !== true || structuredContent !== undefined || !Array.isArray(content)) return undefined
  const texts = content.flatMap(part => (isRecord(part) && typeof part.text === 'string' ? [part.text] : []))
  return texts.join(' ')
}
