import { type Answer, isAppError, type Question } from '../../../contracts/index.ts'
import { type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { pause, withTimeLimit } from '../pausing.ts'
import { undelivered } from './answer-delivery.ts'
import { beforeAbort } from './before-abort.ts'
import { createBehindDesk, type UnderWay } from './behind-desk.ts'
import { eitherOf } from './either-of.ts'
import { createLegacySubscriptions, type SubscriptionMethod } from './legacy-subscriptions.ts'
import { requestAsTask, takesTasks } from './legacy-tasks.ts'
import type { Line, Listener } from './line.ts'
import type { Asking } from './peer.ts'
import { type Asked, declined, isAnswerable, kindAsked, toQuestion, toResponse } from './questions.ts'
import { RPC, RpcError } from './rpc-error.ts'
import type { Behind, Session, SessionEvents, SessionFacts } from './session.ts'
import { LIST_METHODS, ownMeta, sessionOver, takeNotice } from './session-parts.ts'
import { bareFailureIn, createUnanswered } from './unanswered.ts'
import { UnreadableAnswer } from './unreadable-answer.ts'

/** What we can be asked for. Whether the caller of the moment can is found out when it is asked. */
export const LEGACY_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** Questions that belong together come one by one; they are passed on together when they come within this time. */
const GATHER_MS = 10

/** How long a server may take to say that it has subscribed. Then it is asked again. */
export const SUBSCRIBE_MS = 30_000

const ALWAYS = () => 0

/** The lists whose changes a server tells of. */
const CHANGING = ['tools', 'prompts', 'resources'] as const

export interface LegacyParts {
  readonly clock: Clock
  readonly events: SessionEvents
}

/** A session of the era before 2026-07-28: the server may ask back on its own, and does not say on whose behalf. */
export function createLegacySession(
  line: Line,
  facts: SessionFacts,
  { clock, events }: LegacyParts,
): { session: Session; listener: Listener } {
  const { peer } = line
  const desk = createBehindDesk(clock)
  const unanswered = createUnanswered()
  const beingAsked = new Set<{ readonly behind: Behind }>()
  /** For each question that is open: what stops the time of a call that may have to wait for the answer. */
  const holds = new Set<(behind: Behind) => void>()
  const hasTasks = takesTasks(facts)
  const subscriptions = createLegacySubscriptions({ clock, events, ended: line.ended, ask: askToTell })
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
      await whileAsked(newest.behind, beforeAbort(gathered(), signal))
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
    for (const { behind } of possible)
      unanswered.noteCrowded(behind, { isLikeliest: behind === possible.at(-1)?.behind })
  }

  /** Folders are asked for in passing. */
  async function noteUnanswered(question: Question, one: UnderWay): Promise<void> {
    if (question.kind === 'roots') return
    const isSure = desk.isAlone()
    await one.behind.ask(question, one.left()).catch(why => unanswered.note(one.behind, why, { isSure }))
  }

  /** A client from 2026-07-28 on gets what is asked in one go as one answer, and comes back once. */
  function gathered(): Promise<void> {
    gathering ??= pause(GATHER_MS, { clock }).then(() => {
      gathering = undefined
    })
    return gathering
  }

  const session: Session = {
    ...sessionOver({ line, desk, facts, probe: signal => peer.request('ping', {}, { signal }) }),
    page: (kind, cursor, signal) =>
      desk.attendOwn(onLate =>
        peer.request(LIST_METHODS[kind], cursor === undefined ? {} : { cursor }, { signal, onLate, isForNext: true }),
      ),
    async ask(method, params, asking) {
      const { signal, behind, onProgress, headers, asTask } = asking
      throwIfCancelled(signal)
      for (const hold of holds) hold(behind)
      const meta = ownMeta(asking)
      try {
        const result = await desk.attend(behind, (onLate, vain) => {
          const options = {
            signal: eitherOf(signal, vain.signal),
            onProgress,
            headers,
            onLate,
            meta,
            caller: behind.caller,
            fail: vain.cancel,
          }
          return asTask && hasTasks
            ? requestAsTask(peer, params, { clock, ...options })
            : peer.request(method, params, options)
        })
        const failure = bareFailureIn(result)
        const reason = failure === undefined ? undefined : unanswered.reasonFor(behind, failure)
        if (reason) throw reason
        return unanswered.addTo(result, behind)
      } catch (error) {
        // Nobody knows whether what cannot be read tells of a failure.
        if (!(error instanceof RpcError) || error instanceof UnreadableAnswer) throw error
        // A server that was refused an answer may say no more than that it failed.
        const reason = unanswered.reasonFor(behind, error.message)
        const failure = method === 'tools/call' ? unanswered.failureOf(error, behind) : undefined
        if (reason || !failure) throw reason ?? error
        return failure
      }
    },
    watch: subscriptions.want,
    listeningSince: () => (line.channel.listeningSince ?? ALWAYS)(),
    close: end => line.close(end),
  }

  function askToTell(method: SubscriptionMethod, uri: string): Promise<Params> {
    return withTimeLimit(SUBSCRIBE_MS, { clock, reason: 'It does not answer.' }, signal =>
      desk.attendOwn(onLate => peer.request(method, { uri }, { signal, onLate })),
    )
  }

  /** A server that was not heard for a while does not say again what it said. */
  function missed(): void {
    for (const kind of CHANGING) if (isRecord(facts.capabilities[kind])) events.onListChanged(kind)
    for (const uri of subscriptions.wanted()) events.onResourceUpdated(uri)
  }

  const notice = (method: string, params: Params) => takeNotice(method, params, { desk, events })
  const isAsked = (caller: string) => isBeingAsked(behind => behind.caller === caller)
  return { session, listener: { serve, notice, missed, isAsked } }
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
