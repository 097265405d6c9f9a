import { type Answer, AppError, isAppError, type Question } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { beforeAbort, pause } from './abort.ts'
import { RPC, RpcError } from './channel.ts'
import type { IncomingRequest, ServeRequest } from './peer.ts'
import {
  declined,
  isAnswerable,
  kindAsked,
  type QuestionKindOnly,
  toQuestion,
  toResponse,
  undelivered,
} from './questions.ts'
import { CANCELLED_WORK_MS, type OpenRequest, type RequestAttribution } from './request-attribution.ts'
import type { Requester, SessionEvents } from './session.ts'

/** Passes on questions of a server before 2026-07-28, which does not say for which request it asks. */
interface LegacyQuestions {
  serve: ServeRequest
  /** Pauses the timeout of a request that begins while its caller has an open question: it may depend on the answer. */
  pauseIfQuestioned(requester: Requester): void
  hasOpenQuestion(caller: string): boolean
}

interface LegacyQuestionsDeps {
  readonly clock: Clock
  readonly events: Pick<SessionEvents, 'onAmbiguousQuestion'>
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
  const openQuestions = new Set<{ readonly requester: Requester }>()
  /** For each open question, what pauses the timeout of a call that may depend on the answer. */
  const holds = new Set<(requester: Requester) => void>()
  let gathering: Promise<void> | undefined

  async function serve(method: string, params: Params, asking: IncomingRequest): Promise<Params> {
    if (method === 'ping') return {}
    const kind = kindAsked(method, params) ?? refuseUnknown(method)
    if (kind !== 'roots') asking.delivery.catch(why => asking.failCall?.(undelivered(why)))
    const answered = attribution.questionOpened()
    try {
      return await answer({ kind }, () => toQuestion(method, params) ?? refuseUnknown(method), asking)
    } finally {
      answered()
    }
  }

  /** A server may ask without any call. Its question is read only where a call may depend on it. */
  async function answer(asked: QuestionKindOnly, read: () => Question, asking: IncomingRequest): Promise<Params> {
    const { signal } = asking
    const meant = attribution.candidates()
    if (meant === 'several') {
      noteAmbiguous(asked)
      events.onAmbiguousQuestion()
      return declined(asked)
    }
    // The newest request most likely asked. Older ones may have waited for a person for minutes, and are asked only
    // if the newest has left meanwhile.
    const [newest] = meant
    if (!newest) return declined(asked)
    untilDelivered(newest, asked, asking)
    const question = read()
    if (!isAnswerable(question, newest.requester.canAnswer)) {
      await noteUnanswerable(question, newest)
      return declined(question)
    }
    return withPausedCalls(meant, async () => {
      await withOpenQuestion(newest.requester, gatheredFor(newest, signal))
      return askFirstAnswerable(meant, question, asking)
    })
  }

  /**
   * Any of the caller's requests may depend on the question, later ones included: none proceeds before it is
   * answered.
   */
  async function withPausedCalls<T>(meant: readonly OpenRequest[], asking: () => Promise<T>): Promise<T> {
    const resumes: (() => void)[] = []
    const hold = (requester: Requester) => {
      if (requester.pauseRun && requester.caller === meant[0]?.requester.caller) resumes.push(requester.pauseRun())
    }
    for (const { requester } of meant) hold(requester)
    holds.add(hold)
    try {
      return await asking()
    } finally {
      holds.delete(hold)
      for (const resume of resumes) resume()
    }
  }

  async function askFirstAnswerable(
    meant: readonly OpenRequest[],
    question: Question,
    asking: IncomingRequest,
  ): Promise<Params> {
    const { signal } = asking
    for (const one of meant.filter(({ requester }) => isAnswerable(question, requester.canAnswer))) {
      if (one !== meant[0]) untilDelivered(one, question, asking)
      const answering = askWhileOpen(question, one, signal).catch(why => {
        if (signal.aborted) throw why
        return answerAfterFailure(question, one, why)
      })
      const given = await withOpenQuestion(one.requester, answering)
      if (given) return toResponse(question, given)
    }
    return toResponse(question, { action: 'cancel' })
  }

  /** No client could answer, or no answer fits: no decision was made. */
  function answerAfterFailure(question: Question, { requester }: OpenRequest, why: unknown): Answer {
    if (!isAppError(why)) throw why
    if (why.code === 'DEFINITION_INVALID')
      throw new RpcError({ code: RPC.invalidParams, message: `This cannot be asked. ${why.message}` })
    if (question.kind !== 'roots') declinedQuestions.note(requester, why, { isSure: attribution.isOnlyCandidate() })
    return { action: 'cancel' }
  }

  /** A caller may be asked several questions at a time. */
  function withOpenQuestion<T>(requester: Requester, asking: Promise<T>): Promise<T> {
    const asked = { requester }
    openQuestions.add(asked)
    return asking.finally(() => openQuestions.delete(asked))
  }

  /**
   * A question is open until the server has the answer. No call waits for roots, which need no person. With several
   * open requests only the exchange of the question tells which of them waits.
   */
  function untilDelivered(
    { requester, fail }: OpenRequest,
    { kind }: QuestionKindOnly,
    { delivery, failCall }: IncomingRequest,
  ): void {
    const isSure = kind !== 'roots' && failCall === undefined && attribution.isOnlyCandidate()
    withOpenQuestion(requester, delivery).catch(why => {
      if (isSure) fail(undelivered(why))
    })
  }

  function isQuestioned(is: (requester: Requester) => boolean): boolean {
    return [...openQuestions].some(({ requester }) => is(requester))
  }

  /** Any open request may have been meant, except those with an open question. */
  function noteAmbiguous(asked: QuestionKindOnly): void {
    if (asked.kind === 'roots') return
    const possible = attribution
      .open()
      .filter(({ requester }) => isAnswerable(asked, requester.canAnswer) && !isQuestioned(one => one === requester))
    for (const { requester } of possible) declinedQuestions.noteAmbiguous(requester)
  }

  async function noteUnanswerable(question: Question, one: OpenRequest): Promise<void> {
    if (question.kind === 'roots') return
    const isSure = attribution.isOnlyCandidate()
    await one.requester
      .ask(question, one.abandoned())
      .catch(why => declinedQuestions.note(one.requester, why, { isSure }))
  }

  /** Once the call has ended nothing more belongs to the question, which would block others. */
  async function gatheredFor({ abandoned }: OpenRequest, signal: AbortSignal): Promise<void> {
    await beforeAbort(gathered(), AbortSignal.any([signal, abandoned()])).catch(why => {
      if (signal.aborted) throw why
    })
  }

  /** A client from 2026-07-28 on gets questions asked together as one result, and returns once. */
  function gathered(): Promise<void> {
    gathering ??= pause(GATHER_MS, { clock }).then(() => {
      gathering = undefined
    })
    return gathering
  }

  return {
    serve,
    pauseIfQuestioned(requester) {
      for (const hold of holds) hold(requester)
    },
    hasOpenQuestion: caller => isQuestioned(requester => requester.caller === caller),
  }
}

function refuseUnknown(method: string): never {
  throw new RpcError({ code: RPC.methodNotFound, message: `There is no "${excerptOf(method)}" here.` })
}

/** The answer, while the server still wants it; nothing once no caller waits for the request. */
async function askWhileOpen(
  question: Question,
  { requester, abandoned }: OpenRequest,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const wanted = AbortSignal.any([signal, abandoned()])
  try {
    wanted.throwIfAborted()
    return await beforeAbort(requester.ask(question, wanted), wanted)
  } catch (error) {
    if (signal.aborted || !abandoned().aborted) throw error
    return undefined
  }
}

/**
 * Records for which requests a question was declined: the caller cannot answer it, or it was unknown which of several
 * clients it was for.
 */
interface DeclinedQuestions {
  /** `isSure`: this request asked. Otherwise another of the same caller may have. */
  note(requester: Requester, why: unknown, options: { readonly isSure: boolean }): void
  /** The question may have been about this request, or one of another client, open or recently cancelled. */
  noteAmbiguous(requester: Requester): void
  /** The error of a request that failed after a declined question: names the ability that its client would need. */
  reasonFor(requester: Requester, failure: string): AppError | undefined
  /**
   * The result with a note about the declined question: on a failure of a request that certainly asked, and on every
   * result where other clients prevented the question, because it would be taken for the person's refusal.
   */
  addTo(result: Params, requester: Requester): Params
  /** The same for a call that ended with an error: it need not be final. */
  failureOf(error: RpcError, requester: Requester): Params | undefined
}

export function createDeclinedQuestions(): DeclinedQuestions {
  const reasons = new WeakMap<Requester, { readonly why: AppError; readonly isSure: boolean }>()
  const crowded = new WeakSet<Requester>()
  return {
    noteAmbiguous(requester) {
      crowded.add(requester)
    },
    note(requester, why, { isSure }) {
      if (isAppError(why) && why.code === 'ANSWER_UNAVAILABLE') reasons.set(requester, { why, isSure })
    },
    reasonFor(requester, failure) {
      const reason = reasons.get(requester)?.why
      if (!reason) return undefined
      const message = `${reason.message} Without an answer it failed: ${excerptOf(failure, MOST_TOLD)}`
      const { details } = reason
      return new AppError('ANSWER_UNAVAILABLE', message, { cause: reason, ...(details ? { details } : {}) })
    },
    addTo(result, requester) {
      const { isError, content } = result
      if (!Array.isArray(content)) return result
      const noted = reasons.get(requester)
      if (noted?.isSure && isError === true)
        return withText(result, content, `No client could answer its question. ${noted.why.message}`)
      return crowded.has(requester) ? withText(result, content, AMBIGUOUS) : result
    },
    failureOf({ code, message }, requester) {
      if (!crowded.has(requester) || MEANINGFUL.has(code)) return undefined
      return withText({ isError: true }, [{ type: 'text', text: message }], AMBIGUOUS)
    },
  }
}

/** Errors that say what to do before the call can succeed. */
const MEANINGFUL: ReadonlySet<number> = new Set([RPC.urlElicitationRequired, RPC.missingCapability])

const CANCELLED_WORK_MINUTES = CANCELLED_WORK_MS / 60_000

const AMBIGUOUS =
  'While this was under way its server asked a question, which was declined automatically: it does not say for which call ' +
  'it asks, and a call of another client was under way too, or was cancelled less than ' +
  `${CANCELLED_WORK_MINUTES} minutes before and may still be at work. If a refusal is spoken of here, no person refused; the next ` +
  'call may get through, once no other client of the same agent has one under way, and ' +
  `${CANCELLED_WORK_MINUTES} minutes after the last one was cancelled.`

function withText(result: Params, content: readonly unknown[], text: string): Params {
  return { ...result, content: [...content, { type: 'text', text }] }
}

const MOST_TOLD = 500

/**
 * The text of a result that reports a failure and nothing else. A structured result is prepared by its tool, and
 * stays.
 */
export function bareFailureIn({ isError, content, structuredContent }: Params): string | undefined {
  if (isError !== true || structuredContent !== undefined || !Array.isArray(content)) return undefined
  const texts = content.flatMap(part => (isRecord(part) && typeof part.text === 'string' ? [part.text] : []))
  return texts.join(' ')
}
