import {
  AppError,
  type CallAnswer,
  type ConsentAsk,
  isAppError,
  messageOf,
  type Settings,
  toAppError,
} from '../../../contracts/index.ts'
import type { SchemaCompiler, Tool } from '../../catalogue/index.ts'
import type { Clock, Log } from '../../kernel/index.ts'
import type { Approvals, UnallowedCall } from '../consent/approvals.ts'
import {
  type Consent,
  type ConsentGate,
  clientAnswer,
  clientQuestion,
  consentDenied,
  consentRequired,
  mayAskClient,
} from '../consent/consent-decision.ts'
import type { ConsentServices } from '../consent/consent-service.ts'
import { consentWrites } from '../consent/requests.ts'
import { ANSWER_SECONDS } from '../elicitation/elicitation.ts'
import type { Idempotency, KnownCall } from '../record/idempotency.ts'
import type { OperationAdmin } from '../record/operation-admin.ts'
import type { OperationLog, OperationRecord } from '../record/operation-log.ts'
import type { OperationSnapshot } from '../record/operation-storage.ts'
import { waitingAnswer } from '../record/running-calls.ts'
import { withOperation } from '../record/verify-after-failure.ts'
import { askWhileWanted, canAnswer } from './call-context.ts'
import { type CallState, isDeliveredTo } from './call-state.ts'
import type { Deadline } from './deadline.ts'

/** A call that needs consent. */
interface PendingCall {
  readonly callState: CallState
  readonly tool: Tool
  readonly record: OperationRecord
  readonly deadline: Deadline
}

/** Obtains consent for calls and records them, or lets them wait. */
export interface ConsentStep {
  /** Nothing when the call may run now; else the answer for its caller. Throws when it may not run. */
  obtainConsent(pending: PendingCall): Promise<CallAnswer | 'known' | undefined>
}

interface ConsentStepDeps {
  readonly gate: ConsentGate
  readonly approvals: Approvals
  readonly consentServices: ConsentServices
  readonly operations: Pick<OperationLog, 'begin' | 'adopt'>
  readonly operationAdmin: Pick<OperationAdmin, 'cancel'>
  readonly idempotency: Pick<Idempotency, 'answerOf'>
  readonly compiler: SchemaCompiler
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'consentWaitSeconds' | 'approvalHours'>
}

interface Allowed {
  readonly snapshot: OperationSnapshot
  readonly consent: Consent
}

/** How cancelling a waiting call ended: not run and not runnable any more; ended or being stopped by another process; or unknown. */
type CancelOutcome = 'notRun' | 'byOthers' | 'unsure'

/** A grant that is used or revoked meanwhile means another decision; more often than this is abuse. */
const MOST_LOOKS = 5
/** Pauses between tries to cancel an operation while the store is busy or a run is about to begin; six seconds in all. */
const FIRST_PAUSE_MS = 50
const MOST_PAUSES = 7

export function createConsentStep(deps: ConsentStepDeps): ConsentStep {
  const { gate, approvals, operations, clock } = deps

  const decide = ({ callState, tool, deadline }: PendingCall) => {
    const { operationId, config, digest, request } = callState
    const { session, input, consented } = request
    return deadline.race(gate.decide({ operationId, session, tool, config, digest, input, consented }))
  }

  async function obtainConsent(pending: PendingCall): Promise<CallAnswer | 'known' | undefined> {
    const { callState, tool, record } = pending
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const decision = await decide(pending)
      if (decision.kind === 'denied') throw consentDenied(tool, decision.grant)
      if (decision.kind === 'missing') return await waitForPersons(pending, decision.asks)
      callState.consent = decision.consent
      // A resumed operation was leased together with its grants.
      if (callState.resumed) return undefined
      const now = Math.round(clock.now())
      const begun = await operations.begin(record, consentWrites(decision.grants, callState.operationId, now))
      if (begun === 'known') return 'known'
      if (begun !== 'unallowed') return recorded(callState)
    }
    throw new AppError('STORE_BUSY', `What allows "${tool.name}" changes all the time. Call again.`)
  }

  function recorded(callState: CallState): undefined {
    callState.isRecorded = true
    callState.request.onRecorded?.(callState.operationId)
  }

  async function waitForPersons(
    pending: PendingCall,
    asks: readonly ConsentAsk[],
  ): Promise<CallAnswer | 'known' | undefined> {
    const { callState, tool, record, deadline } = pending
    if (callState.resumed || callState.request.unallowed === 'refuse')
      throw consentRequired(tool, asks, callState.digest)
    const asksClient = mayAsk(callState, asks)
    const budgetMs = (asksClient ? ANSWER_SECONDS : deps.settings.consentWaitSeconds) * 1000
    const call: UnallowedCall = { record, asks, deadline, budgetMs }
    if ((await approvals.open(call)) === 'known') return 'known'
    callState.isParked = true
    callState.request.onRecorded?.(callState.operationId)
    const withdraw = asksClient ? askClient(pending, asks) : () => {}
    let answer: (() => CallAnswer) | undefined
    try {
      answer = await afterAnswer(pending, await approvals.waitForAnswer(call))
    } catch (error) {
      return await interrupted(pending, error)
    } finally {
      withdraw()
      approvals.release(callState.operationId)
    }
    return answer?.()
  }

  async function afterAnswer(pending: PendingCall, state: string | undefined): Promise<(() => CallAnswer) | undefined> {
    const { callState, tool, record } = pending
    const { operationId: id } = callState
    if (state === undefined) return await afterTimeout(pending)
    const taken = state === 'queued' ? await takeAllowed(pending) : undefined
    if (taken === 'later') {
      const allowed = {
        id,
        tool: tool.name,
        state: 'queued',
        attempts: 0,
        dueAt: clock.now(),
        expiresAt: null,
      } as const
      return () => waitingAnswer(allowed, clock.now())
    }
    if (!taken) return await byOthers(pending)
    operations.adopt(record, taken.snapshot, { isAwaited: true })
    callState.consent = taken.consent
    callState.isRecorded = true
    return undefined
  }

  /** The operation is over, or another process was faster or has taken it back: the process that runs it will find out and report. */
  async function byOthers({ callState, tool, deadline }: PendingCall): Promise<() => CallAnswer> {
    const known = await deadline.race(deps.idempotency.answerOf(callState.operationId, isDeliveredTo(callState)))
    // A handle is no answer to the tool around it.
    if (callState.depth > 0 && !known.hasEnded) throw unallowed(tool)
    return known.answer
  }

  /** Nothing where another process runs it; `later` where the store fails now. */
  async function takeAllowed(pending: PendingCall): Promise<Allowed | 'later' | undefined> {
    const { callState, deadline } = pending
    const { operationId: id, depth } = callState
    try {
      const decision = await decide(pending)
      const snapshot = decision.kind === 'allowed' ? await approvals.leaseAllowed(id, decision) : undefined
      if (snapshot && decision.kind === 'allowed') return { snapshot, consent: decision.consent }
      // An operation that is not taken belongs to the queue, unless no caller could come back for it: then it is cancelled.
      if (depth === 0) approvals.release(id)
      return undefined
    } catch (error) {
      if (error === deadline.reason()) throw error
      deps.log.warn('a call that was allowed could not be begun', { operation: id, error: messageOf(error) })
      if (depth === 0) return 'later'
      throw error
    }
  }

  /** The tool around a nested call cannot come back for it, so a later run would be unwanted. */
  async function afterTimeout(pending: PendingCall): Promise<() => CallAnswer> {
    const { callState, tool } = pending
    if (callState.depth > 0) throw unallowed(tool)
    // Another process may have run it meanwhile, without a notification.
    const known = await currentAnswer(pending)
    return known?.hasEnded ? known.answer : () => stillOpen(callState, tool)
  }

  /**
   * A caller that ran out of time, or whose call state cannot be read now, may still get a handle: the call is on record, and a
   * person may allow it. All other callers have cancelled the call, or may not make it any more, and it must not become allowed
   * after that.
   */
  async function interrupted(pending: PendingCall, error: unknown): Promise<CallAnswer> {
    const { callState, tool, deadline } = pending
    const { operationId: id, depth } = callState
    const reason = deadline.reason()
    const isOver = reason !== undefined && !OUT_OF_TIME.has(reason.code)
    if (depth === 0 && !isOver) {
      if (error !== reason) deps.log.warn('the state of a call is unknown', { operation: id, error: messageOf(error) })
      return stillOpen(callState, tool)
    }
    // Otherwise `cancel` would stop this call, and not the run that the queue begins at that moment.
    deadline.cancel(toAppError(error))
    const end = await cancelOperation(id)
    if (end === 'unsure') throw cancelUnconfirmed(tool, id, error)
    if (end === 'notRun') await currentAnswer(pending)
    // The caller has to get the result, unless its token is invalid.
    if (end === 'notRun' || toAppError(error).code === 'TOKEN_INVALID') throw error
    return await endOf(pending, error)
  }

  /** The current state, delivered with the answer; nothing where it is unknown. */
  async function currentAnswer({ callState }: PendingCall): Promise<KnownCall | undefined> {
    return await deps.idempotency.answerOf(callState.operationId, isDeliveredTo(callState)).catch(() => undefined)
  }

  /** The result of a run elsewhere. Where it is unknown, the work may be done. */
  async function endOf(pending: PendingCall, error: unknown): Promise<CallAnswer> {
    const known = await currentAnswer(pending)
    if (!known?.hasEnded) throw cancelUnconfirmed(pending.tool, pending.callState.operationId, error)
    return known.answer()
  }

  /**
   * Cancels the operation, or has it cancelled. An answer may come at that moment; an allowed operation that has not run is
   * unwanted too. Where another process has just leased it, it can be stopped as soon as it runs.
   */
  async function cancelOperation(id: string): Promise<CancelOutcome> {
    for (let looks = 0, pause = FIRST_PAUSE_MS; ; looks++, pause *= 2) {
      const came = await deps.operationAdmin.cancel(id).catch(toAppError)
      if (!isAppError(came)) return came === 'cancelled' ? 'notRun' : 'byOthers'
      if (came.code === 'REQUEST_REFUSED') return 'byOthers'
      if (came.code === 'NAME_UNKNOWN') return 'notRun'
      if (looks === MOST_PAUSES || came.code === 'STOPPING') {
        deps.log.error('a cancelled call may still be run', { operation: id, error: came.message })
        return 'unsure'
      }
      await new Promise<void>(resolve => clock.after(pause, resolve))
    }
  }

  /** The client is asked in parallel to the people; the first answer wins, and the others are withdrawn. */
  function askClient(pending: PendingCall, asks: readonly ConsentAsk[]): () => void {
    const { callState, tool, deadline } = pending
    const { request, operationId } = callState
    const over = new AbortController()
    const question = clientQuestion({ operationId, tool: tool.name, asks, input: request.input })
    const asking = { request, subject: tool.name, compiler: deps.compiler, deadline }
    // Where the client's person does not decide, the call waits for the others like a call without such a client.
    const waitForOthers = () => approvals.limitWait(operationId, deps.settings.consentWaitSeconds * 1000)
    askWhileWanted(question, asking, { signal: over.signal })
      .then(async given => {
        const answer = clientAnswer(given)
        const by = { name: `the client of ${request.session.caller.name}`, via: 'client' as const }
        if (!answer) return waitForOthers()
        await deps.consentServices(request.session.caller.organisation).answer(operationId, answer, by)
      })
      .catch(error => {
        if (over.signal.aborted) return
        waitForOthers()
        deps.log.debug('a client gave no answer about consent', { error: messageOf(error) })
      })
    return () => over.abort(new AppError('CANCELLED', 'Another person has answered.'))
  }

  function stillOpen({ operationId: id, startedAt }: CallState, { name: tool }: Tool): CallAnswer {
    const expiresAt = Math.round(startedAt) + deps.settings.approvalHours * HOUR_MS
    return waitingAnswer({ id, tool, state: 'waitingForApproval', dueAt: null, expiresAt }, clock.now())
  }

  return { obtainConsent }
}

const HOUR_MS = 3_600_000

function unallowed({ name: tool }: Tool): AppError {
  return new AppError('CONSENT_REQUIRED', `"${tool}" was not allowed in time.`, { details: { tool } })
}

function cancelUnconfirmed({ name: tool }: Tool, id: string, cause: unknown): AppError {
  const message = `"${tool}" was cancelled, but may still run. Look before you call it again.`
  const failure = new AppError('OUTCOME_UNKNOWN', message, { cause, details: { tool } })
  return withOperation(failure, { id, hasEffects: false })
}

/** Reasons that end the caller's wait but not the call. */
const OUT_OF_TIME: ReadonlySet<string> = new Set(['DEADLINE_EXCEEDED', 'STOPPING'])

/** Only where the owner wrote that this agent's clients may be asked. */
function mayAsk({ request }: CallState, asks: readonly ConsentAsk[]): boolean {
  const { session } = request
  return session.agent()?.consent?.askClient === true && mayAskClient(asks) && canAnswer(request, 'person')
}
