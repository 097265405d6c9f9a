import {
  AppError,
  type CallAnswer,
  type ConsentAsk,
  messageOf,
  type Settings,
  toAppError,
} from '../../../contracts/index.ts'
import type { SchemaCompiler, Tool } from '../../catalogue/index.ts'
import type { Clock, Log } from '../../kernel/index.ts'
import { ANSWER_SECONDS } from '../exchange/exchanges.ts'
import { askWhileWanted, canAnswer } from '../path/ask-stage.ts'
import type { Deadline } from '../path/deadline.ts'
import type { Journey } from '../path/journey.ts'
import { waitingAnswer } from '../path/waiting-answer.ts'
import type { Idempotency } from '../record/idempotency.ts'
import type { OperationDesk } from '../record/operation-desk.ts'
import type { OperationLog, OperationRecord } from '../record/operation-log.ts'
import type { Standing } from '../record/standing.ts'
import type { Approvals, UnallowedCall } from './approvals.ts'
import { clientAnswer, clientQuestion, mayAskClient } from './client-question.ts'
import type { Consent } from './consent-decision.ts'
import type { ConsentDesk } from './consent-desk.ts'
import { type ConsentGate, consentDenied, consentRequired } from './consent-gate.ts'
import { consentWrites } from './consent-writes.ts'

/** A call that is to be let in. */
export interface Applicant {
  readonly journey: Journey
  readonly tool: Tool
  readonly record: OperationRecord
  readonly deadline: Deadline
}

/** Gets calls that need consent allowed and on record, or has them wait. */
export interface Admission {
  /** Nothing when the call may run now; else what its caller is answered. Throws when it may not. */
  admit(applicant: Applicant): Promise<CallAnswer | 'known' | undefined>
}

export interface AdmissionDeps {
  readonly gate: ConsentGate
  readonly approvals: Approvals
  readonly desk: Pick<ConsentDesk, 'answer'>
  readonly operations: Pick<OperationLog, 'begin' | 'adopt'>
  readonly operationDesk: Pick<OperationDesk, 'cancel'>
  readonly idempotency: Pick<Idempotency, 'answerOf'>
  readonly compiler: SchemaCompiler
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'consentWaitSeconds'>
}

/** What a caller who waited runs its call with. */
interface Allowed {
  readonly standing: Standing
  readonly consent: Consent
}

/** A grant that is used or taken back at the very moment makes room for another look; more often than this is somebody's game. */
const MOST_LOOKS = 5

export function createAdmission(deps: AdmissionDeps): Admission {
  const { gate, approvals, operations, clock } = deps

  const decide = ({ journey, tool, deadline }: Applicant) => {
    const { operationId, config, digest, request } = journey
    const { seat, input, consented } = request
    return deadline.race(gate.decide({ operationId, seat, tool, config, digest, input, consented }))
  }

  async function admit(applicant: Applicant): Promise<CallAnswer | 'known' | undefined> {
    const { journey, tool, record } = applicant
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const decision = await decide(applicant)
      if (decision.kind === 'denied') throw consentDenied(tool, decision.grant)
      if (decision.kind === 'missing') return await waitForPersons(applicant, decision.asks)
      journey.consent = decision.consent
      // One that waited was leased with what it runs on.
      if (journey.resumed) return undefined
      const now = Math.round(clock.now())
      const begun = await operations.begin(record, consentWrites(decision.grants, journey.operationId, now))
      if (begun === 'known') return 'known'
      if (begun !== 'unallowed') return recorded(journey)
    }
    throw new AppError('STORE_BUSY', `What allows "${tool.name}" changes all the time. Call again.`)
  }

  function recorded(journey: Journey): undefined {
    journey.isRecorded = true
    journey.request.onRecorded?.(journey.operationId)
  }

  async function waitForPersons(
    applicant: Applicant,
    asks: readonly ConsentAsk[],
  ): Promise<CallAnswer | 'known' | undefined> {
    const { journey, tool, record, deadline } = applicant
    if (journey.resumed || journey.request.unallowed === 'refuse') throw consentRequired(tool, asks, journey.digest)
    const asksClient = mayAsk(journey, asks)
    const budgetMs = (asksClient ? ANSWER_SECONDS : deps.settings.consentWaitSeconds) * 1000
    const call: UnallowedCall = { record, asks, deadline, budgetMs }
    if ((await approvals.open(call)) === 'known') return 'known'
    journey.isParked = true
    journey.request.onRecorded?.(journey.operationId)
    const withdraw = asksClient ? askClient(applicant, asks) : () => {}
    try {
      return await afterAnswer(applicant, await approvals.next(call))
    } catch (error) {
      return await interrupted(applicant, error)
    } finally {
      withdraw()
      approvals.leave(journey.operationId)
    }
  }

  async function afterAnswer(applicant: Applicant, state: string | undefined): Promise<CallAnswer | undefined> {
    const { journey, tool, record, deadline } = applicant
    const { operationId: id } = journey
    if (state === undefined) return await outOfPatience(applicant)
    const taken = state === 'queued' ? await takeAllowed(applicant) : undefined
    if (taken === 'later') return waitingAnswer({ id, tool: tool.name, state: 'queued', dueAt: null })
    // It is over; or somebody else was faster, or has taken it back again: whoever runs it then will find out, and say.
    if (!taken) return await deadline.race(deps.idempotency.answerOf(id))
    operations.adopt(record, taken.standing, { isAwaited: true })
    journey.consent = taken.consent
    journey.isRecorded = true
    return undefined
  }

  /** Nothing where it is not this caller's to run; later where nobody can tell now, and whoever looks next can. */
  async function takeAllowed(applicant: Applicant): Promise<Allowed | 'later' | undefined> {
    const { journey, deadline } = applicant
    const { operationId: id, depth } = journey
    try {
      const decision = await decide(applicant)
      const standing = decision.kind === 'allowed' ? await approvals.take(id, decision) : undefined
      return standing && decision.kind === 'allowed' ? { standing, consent: decision.consent } : undefined
    } catch (error) {
      if (error === deadline.reason()) throw error
      deps.log.warn('a call that was allowed could not be begun', { operation: id, error: messageOf(error) })
      if (depth === 0) return 'later'
      // The tool around it could not come back for it.
      await giveUp(id)
      throw error
    } finally {
      approvals.leave(id)
    }
  }

  /** The tool around a nested call cannot come back for it, so nobody would want what it did later. */
  async function outOfPatience({ journey, tool }: Applicant): Promise<CallAnswer> {
    const { operationId: id, depth } = journey
    if (depth === 0) return waitingAnswer({ id, tool: tool.name, state: 'waitingForApproval', dueAt: null })
    await giveUp(id)
    throw new AppError('CONSENT_REQUIRED', `Nobody has allowed "${tool.name}" in time.`, {
      details: { tool: tool.name },
    })
  }

  /**
   * Whoever only ran out of time may still be answered by a handle. All others have given the call up, or may not make it any
   * more, and nobody must be able to allow it after that.
   */
  async function interrupted({ journey, tool, deadline }: Applicant, error: unknown): Promise<CallAnswer> {
    const { operationId: id } = journey
    const reason = deadline.reason()
    if (!reason || reason !== error) throw error
    if (journey.depth === 0 && OUT_OF_TIME.has(reason.code))
      return waitingAnswer({ id, tool: tool.name, state: 'waitingForApproval', dueAt: null })
    await giveUp(id)
    throw error
  }

  /** Somebody may answer it at that moment; what was allowed and has not been run is not wanted either. */
  async function giveUp(id: string): Promise<void> {
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const failure = await deps.operationDesk.cancel(id).then(() => undefined, toAppError)
      if (!failure || failure.code === 'REQUEST_REFUSED') return
      if (failure.code !== 'STORE_BUSY') {
        deps.log.warn('a call that was given up is still waiting', { operation: id, error: failure.message })
        return
      }
    }
  }

  /** A client is asked beside everybody else; whoever answers first counts, and the others need not any more. */
  function askClient(applicant: Applicant, asks: readonly ConsentAsk[]): () => void {
    const { journey, tool, deadline } = applicant
    const { request, operationId } = journey
    const over = new AbortController()
    const question = clientQuestion(tool.name, asks, request.input)
    const asking = { request, subject: tool.name, compiler: deps.compiler, deadline }
    // Where nobody in front of the client decides, its call waits for the others as calls do that have no such client.
    const waitForOthers = () => approvals.hurry(operationId, deps.settings.consentWaitSeconds * 1000)
    askWhileWanted(question, asking, { signal: over.signal })
      .then(async given => {
        const answer = clientAnswer(given)
        const by = { name: `the client of ${request.seat.caller.name}`, via: 'client' as const }
        if (!answer) return waitForOthers()
        await deps.desk.answer(operationId, answer, by)
      })
      .catch(error => {
        if (over.signal.aborted) return
        waitForOthers()
        deps.log.debug('a client gave no answer about consent', { error: messageOf(error) })
      })
    return () => over.abort(new AppError('CANCELLED', 'Somebody else has answered.'))
  }

  return { admit }
}

/** What ends the caller's waiting and not the call. */
const OUT_OF_TIME: ReadonlySet<string> = new Set(['DEADLINE_EXCEEDED', 'STOPPING'])

/** Only where the owner wrote that this agent's clients may be asked. */
function mayAsk({ request }: Journey, asks: readonly ConsentAsk[]): boolean {
  const { seat } = request
  return seat.agent()?.consent?.askClient === true && mayAskClient(asks) && canAnswer(request, 'person')
}
