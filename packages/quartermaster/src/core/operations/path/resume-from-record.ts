import { AppError, type ApprovalRow, isAppError, type OperationRow } from '../../../contracts/index.ts'
import type { AgentSession } from '../../agents/index.ts'
import { callerKey, type Digest } from '../../kernel/index.ts'
import type { Approvals } from '../consent/approvals.ts'
import { clientAnswer, mayAskClient } from '../consent/consent-gate.ts'
import type { ConsentServices } from '../consent/consent-service.ts'
import type { Idempotency, KnownCall } from '../record/idempotency.ts'
import { callerOf, type StorageAccess } from '../record/operation-storage.ts'
import type { ResumeFromRecordRequest } from './call-request.ts'
import { digestOf, followForward, permit } from './check-call.ts'

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
  // Who said no hears of the end here, and need not be told.
  const release = approvals.hold(operationId)
  // If another answer was faster, the call goes on with that one.
  const consentService = consentServices(session.caller.organisation)
  await consentService.answer(operationId, answer, by).catch(unlessRefused).finally(release)
}

/** The same caller, tool and arguments: anything else is another call. */
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
  return new AppError('CURSOR_GONE', 'The question is no longer open, and what became of it is not known here.')
}
