import { type Answer, isAppError, type Question } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { pause } from '../pausing.ts'
import { undelivered } from './answer-delivery.ts'
import { beforeAbort } from './before-abort.ts'
import type { BehindDesk, UnderWay } from './behind-desk.ts'
import type { Asking, ServeRequest } from './peer.ts'
import { type Asked, declined, isAnswerable, kindAsked, toQuestion, toResponse } from './questions.ts'
import { RPC, RpcError } from './rpc-error.ts'
import type { Behind, SessionEvents } from './session.ts'
import type { Unanswered } from './unanswered.ts'

/** Passes on what a server of the era before 2026-07-28 asks, which does not say on whose behalf. */
export interface LegacyQuestions {
  serve: ServeRequest
  /** Stops the time of a request that begins while its caller is being asked: it may have to wait for the answer. */
  holdBack(behind: Behind): void
  /** Whether a caller is being asked something. */
  isAsked(caller: string): boolean
}

export interface LegacyQuestionsDeps {
  readonly clock: Clock
  readonly events: Pick<SessionEvents, 'onCrowded'>
  readonly desk: BehindDesk
  readonly unanswered: Unanswered
}

/**
 * Questions that belong together come one by one; they are passed on together when they come within this time. Longer than a busy
 * machine takes between two of them, and shorter than whoever is asked would notice.
 */
export const GATHER_MS = 50

export function createLegacyQuestions({ clock, events, desk, unanswered }: LegacyQuestionsDeps): LegacyQuestions {
  const beingAsked = new Set<{ readonly behind: Behind }>()
  /** For each question that is open: what stops the time of a call that may have to wait for the answer. */
  const holds = new Set<(behind: Behind) => void>()
  let gathering: Promise<void> | undefined

  async function serve(method: string, params: Params, asking: Asking): Promise<Params> {
    if (method === 'ping') return {}
    const kind = kindAsked(method, params) ?? refuseUnknown(method)
    if (kind !== 'roots') asking.delivery.catch(why => asking.failCall?.(undelivered(why)))
    const answered = desk.asked()
    try {
      return await answer({ kind }, () => toQuestion(method, params) ?? refuseUnknown(method), asking)
    } finally {
      answered()
    }
  }

  /** A server may ask when nobody has called it. What it asks is read only where there is somebody to whom it may matter. */
  async function answer(asked: Asked, read: () => Question, asking: Asking): Promise<Params> {
    const { signal } = asking
    const meant = desk.meant()
    if (meant === 'several') {
      noteCrowded(asked)
      events.onCrowded()
      return declined(asked)
    }
    // The newest is the likeliest to have asked. Older ones may have waited for a person for minutes, and are asked about it
    // only where the newest has left meanwhile.
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
   * Which of them the server asks about nobody knows, and none of them gets on before it is answered; nor may what the same caller
   * asks for meanwhile.
   */
  async function whilePaused<T>(meant: readonly UnderWay[], asking: () => Promise<T>): Promise<T> {
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

  async function askOneOf(meant: readonly UnderWay[], question: Question, asking: Asking): Promise<Params> {
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

  /** It may turn out on the way that nobody can answer this, or that no answer fits. Nobody has decided anything then. */
  function afterAll(question: Question, { behind }: UnderWay, why: unknown): Answer {
    if (!isAppError(why)) throw why
    if (why.code === 'DEFINITION_INVALID')
      throw new RpcError({ code: RPC.invalidParams, message: `This cannot be asked. ${why.message}` })
    if (question.kind !== 'roots') unanswered.note(behind, why, { isSure: desk.isAlone() })
    return { action: 'cancel' }
  }

  /** One may be asked several things at a time. */
  function whileAsked<T>(behind: Behind, asking: Promise<T>): Promise<T> {
    const asked = { behind }
    beingAsked.add(asked)
    return asking.finally(() => beingAsked.delete(asked))
  }

  /**
   * It is being asked until the server has the answer. Folders are asked for in passing, and nothing waits for them; and where
   * several are under way, only the exchange in which it was asked tells which of them does.
   */
  function untilDelivered({ behind, fail }: UnderWay, { kind }: Asked, { delivery, failCall }: Asking): void {
    const isSure = kind !== 'roots' && failCall === undefined && desk.isAlone()
    whileAsked(behind, delivery).catch(why => {
      if (isSure) fail(undelivered(why))
    })
  }

  function isBeingAsked(is: (behind: Behind) => boolean): boolean {
    return [...beingAsked].some(({ behind }) => is(behind))
  }

  /** Any of them may have been asked about that could have been, but for those that are being asked something already. */
  function noteCrowded(asked: Asked): void {
    if (asked.kind === 'roots') return
    const possible = desk
      .underWay()
      .filter(({ behind }) => isAnswerable(asked, behind.canAnswer) && !isBeingAsked(one => one === behind))
    for (const { behind } of possible) unanswered.noteCrowded(behind)
  }

  /** Folders are asked for in passing. */
  async function noteUnanswered(question: Question, one: UnderWay): Promise<void> {
    if (question.kind === 'roots') return
    const isSure = desk.isAlone()
    await one.behind.ask(question, one.left()).catch(why => unanswered.note(one.behind, why, { isSure }))
  }

  /** Of one whose call has ended nothing more belongs together, and its question is in the way of others. */
  async function gatheredFor({ left }: UnderWay, signal: AbortSignal): Promise<void> {
    await beforeAbort(gathered(), AbortSignal.any([signal, left()])).catch(why => {
      if (signal.aborted) throw why
    })
  }

  /** A client from 2026-07-28 on gets what is asked in one go as one answer, and comes back once. */
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

/** What was answered, as long as the server wants to know; nothing once nobody waits for what it was asked for. */
async function askWhileUnderWay(
  question: Question,
  { behind, left }: UnderWay,
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
