import {
  AppError,
  type ApprovalRow,
  type CallAnswer,
  isAppError,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import { type AgentSession } from '../../agents/index.ts'
import { type Tool } from '../../catalogue/index.ts'
import { type Clock, callerKey, type Digest } from '../../kernel/index.ts'
import { type Approvals } from '../consent/approvals.ts'
import { clientAnswer, mayAskClient } from '../consent/consent-decision.ts'
import { type ConsentServices } from '../consent/consent-service.ts'
import { type Idempotency, type KnownCall } from '../record/idempotency.ts'
import { type Begun, type OperationLog, type OperationRecord } from '../record/operation-log.ts'
import { callerOf, expiryOf, type StorageAccess } from '../record/operation-storage.ts'
import { waitingAnswer } from '../record/running-calls.ts'
import { type CallState, isDeliveredTo, type ResumeFromRecordRequest } from './call-state.ts'
import { digestOf, followForward, permit } from './check-call.ts'
import { type ConsentStep } from './consent-step.ts'
import { type Deadline } from './deadline.ts'

/** Records calls, or finds that they are recorded already. */
interface OperationStarter {
  /** The answer of the first call with the same idempotency key. Checked first: that call may have succeeded, whatever is wrong now. */
  firstAnswer(callState: CallState, deadline: Deadline): Promise<CallAnswer | undefined>
  /**
   * Records the call, with consent where it is needed. Returns the answer where the call does not run now; `undefined`
   * synchronously when it needs neither a record nor consent.
   */
  begin(callState: CallState, tool: Tool, deadline: Deadline): Promise<CallAnswer | undefined> | undefined
  /** Records the call of a disabled tool, to run when the tool is active again, if the call asks for that; else throws `reason`. */
  waitForTool(callState: CallState, tool: Tool, reason: unknown, deadline: Deadline): Promise<CallAnswer>
}

export interface OperationStarterDeps {
  readonly operations: Pick<OperationLog, 'begin' | 'queue'>
  readonly idempotency: Pick<Idempotency, 'first'>
  readonly consentStep: ConsentStep
  readonly clock: Clock
  readonly settings: Pick<Settings, 'retryMaxAgeMinutes'>
}

export function createOperationStarter({
  operations,
  idempotency,
  consentStep,
  clock,
  settings,
}: OperationStarterDeps): OperationStarter {
  async function firstAnswer(callState: CallState, deadline: Deadline): Promise<CallAnswer | undefined> {
    const { session, tool, idempotencyKey: key } = callState.request
    if (key === undefined) return undefined
    const first = idempotency.first(
      { caller: session.caller, tool, key, digest: callState.digest },
      isDeliveredTo(callState),
    )
    const known = await deadline.race(first)
    callState.repeatOf = known?.operationId
    return known?.answer()
  }

  /** Another call with the same idempotency key was faster. */
  async function overtaken(callState: CallState, deadline: Deadline): Promise<CallAnswer> {
    const first = await firstAnswer(callState, deadline)
    if (first) return first
    throw new AppError('STORE_BUSY', 'The first call with this idempotency key is being deleted. Call again.')
  }

  async function unlessOvertaken(
    entering: Promise<CallAnswer | 'known' | undefined>,
    callState: CallState,
    deadline: Deadline,
  ): Promise<CallAnswer | undefined> {
    const answer = await entering
    return answer === 'known' ? await overtaken(callState, deadline) : answer
  }

  return {
    firstAnswer,
    begin(callState, tool, deadline) {
      const record = recordFor(callState, tool)
      if (record.needsConsent)
        return unlessOvertaken(consentStep.obtainConsent({ callState, tool, record, deadline }), callState, deadline)
      const writing = callState.resumed ? undefined : operations.begin(record)
      return writing && unlessOvertaken(entered(callState, writing), callState, deadline)
    },
    async waitForTool(callState, tool, reason, deadline) {
      const isDisabled = isAppError(reason) && reason.code === 'TOOL_DISABLED'
      if (!isDisabled || callState.request.whenDisabled !== 'wait') throw reason
      const { operationId: id, startedAt } = callState
      const createdAt = Math.round(startedAt)
      const expiresAt = expiryOf({ createdAt, startedAt: null, expiresAt: null }, settings)
      const waiting = { error: reason.toJSON(), expiresAt }
      if ((await operations.queue(recordFor(callState, tool), waiting)) === 'known')
        return await overtaken(callState, deadline)
      callState.request.onRecorded?.(id)
      return waitingAnswer({ id, tool: tool.name, state: 'queued', dueAt: null, ...waiting }, clock.now())
    },
  }
}

/** Always awaited: a record without a run would look as if its call were running. */
async function entered(callState: CallState, writing: Promise<Begun>): Promise<'known' | undefined> {
  if ((await writing) !== 'begun') return 'known'
  callState.isRecorded = true
  callState.request.onRecorded?.(callState.operationId)
  return undefined
}

function recordFor({ request, operationId, digest, startedAt, parentId }: CallState, tool: Tool): OperationRecord {
  const { session, input, asTask, idempotencyKey } = request
  return {
    id: operationId,
    caller: session.caller,
    tool: tool.name,
    definitionHash: tool.definitionHash,
    mutates: tool.mutates,
    retry: parentId === undefined ? tool.retry : 'manual',
    needsConsent: tool.consent.length > 0,
    digest,
    input,
    startedAt,
    parentId,
    ttlMs: asTask?.ttlMs,
    idempotencyKey,
  }
}

export interface ResumeFromRecordDeps {
  readonly storage: StorageAccess
  readonly idempotency: Pick<Idempotency, 'answerOf'>
  readonly consentServices: ConsentServices
  readonly approvals: Pick<Approvals, 'hold'>
  readonly digest: Digest
}

/**
 * Resumes a recorded call whose in-memory state is gone: the client's answer is applied as if the state were there, and the
 * client gets the result, or a handle. Throws `CURSOR_GONE` where it is not its call.
 */
export async function resumeFromRecord(
  request: ResumeFromRecordRequest,
  deps: ResumeFromRecordDeps,
): Promise<KnownCall> {
  const { operationId, isDelivered } = request
  const { store } = await deps.storage.open()
  const row = await store.get('operations', operationId)
  if (!row || !isOwn(row, request, deps.digest)) throw gone()
  if (row.state === 'waitingForApproval') await take(request, await store.get('approvals', operationId), deps)
  return await deps.idempotency.answerOf(operationId, isDelivered)
}

/** The answer is valid only for the current question: a person who is asked again has not answered yet. */
async function take(
  { operationId, session, answered }: ResumeFromRecordRequest,
  approval: ApprovalRow | undefined,
  { consentServices, approvals }: ResumeFromRecordDeps,
): Promise<void> {
  const answer = answered && clientAnswer(answered.answer)
  if (!answer || !approval || approval.createdAt > answered.askedAt) return
  if (!isAsked(session) || !mayAskClient(approval.asks)) return
  const by = { name: `the client of ${session.caller.name}`, via: 'client' as const }
  // The client that answers gets the result here, and need not be notified.
  const release = approvals.hold(operationId)
  // If another answer was faster, the call goes on with that one.
  const consentService = consentServices(session.caller.organisation)
  await consentService.answer(operationId, answer, by).catch(unlessRefused).finally(release)
}

/** Whether caller, tool and arguments are the same. */
function isOwn(row: OperationRow, request: ResumeFromRecordRequest, digest: Digest): boolean {
  const { session, tool: name, input } = followForward(request)
  const { tool } = permit(session, name)
  const isTheirs = callerKey(callerOf(row)) === callerKey(session.caller)
  return isTheirs && row.tool === tool.name && row.digest === digestOf(tool, input, digest)
}

function isAsked(session: AgentSession): boolean {
  return session.agent()?.consent?.askClient === true
}

function unlessRefused(error: unknown): void {
  if (!isAppError(error) || error.code !== 'REQUEST_REFUSED') throw error
}

function gone(): AppError {
  return new AppError('CURSOR_GONE', 'The question is no longer open, and its outcome is not known here.')
}
