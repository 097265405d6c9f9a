import { AppError, messageOf, type OperationRow, type Settings, toAppError } from '../../../contracts/index.ts'
import type { AgentSession, Agents } from '../../agents/index.ts'
import type { Health } from '../../health/index.ts'
import type { Sealer } from '../../store/index.ts'
import type { Approvals } from '../consent/approvals.ts'
import { type ConsentGate, consentDenied, consentRevoked } from '../consent/consent-decision.ts'
import { consentWrites, type Definitions, isSameTool, mayStillLoad, requestStatus } from '../consent/requests.ts'
import type { Calls, ResumeRequest } from '../path/call-state.ts'
import { auditOfRow } from '../record/audit.ts'
import type { OperationEnd, OperationLog } from '../record/operation-log.ts'
import { openArguments, recordOf } from '../record/operation-row.ts'
import { callerOf, expiryOf } from '../record/operation-storage.ts'
import { openEffects } from '../record/stored-results.ts'
import type { FailureVerifier } from '../record/verify-after-failure.ts'
import { createQueue, type Queue, type QueueDeps, type RunTerms } from './queue.ts'

interface WaitedOperationsDeps
  extends Pick<QueueDeps, 'clock' | 'ids' | 'random' | 'emitter' | 'storage' | 'log' | 'owner' | 'settings'> {
  readonly agents: Pick<Agents, 'findSession'>
  readonly catalogue: Definitions
  readonly health: Pick<Health, 'availability'>
  readonly calls: Pick<Calls, 'resume'>
  readonly operations: Pick<OperationLog, 'adopt' | 'end' | 'isRunning'>
  readonly gate: ConsentGate
  readonly failureVerifier: FailureVerifier
  readonly approvals: Pick<Approvals, 'isHeld' | 'reopen'>
}

/** Runs waiting operations through the call path, as their caller. The queue starts with the first of them. */
export function createWaitedOperations(deps: WaitedOperationsDeps): Queue {
  const { storage, clock, log, emitter, agents, catalogue, health, operations, approvals, failureVerifier } = deps

  const isAlone = () => storage.current()?.shared?.nodes.isAlone() ?? true

  const isStillComing = (name: string) => !catalogue.current().tools.has(name) && mayStillLoad(catalogue)

  /** A removed tool counts as ready: its run fails and reports that. Unless another process may have the tool. */
  function isReady({ tool: name }: Pick<OperationRow, 'tool'>): boolean {
    const tool = catalogue.current().tools.get(name)
    return tool ? health.availability(tool).active : isAlone() && !isStillComing(name)
  }

  /** A run needs the unchanged tool, active, and an agent that may call it. */
  function cannotRunHere(row: OperationRow): boolean {
    const { tool: name } = row
    if (isStillComing(name)) return true
    if (isAlone()) return false
    const tool = catalogue.current().tools.get(name)
    if (!tool || !isSameTool(row, tool) || !health.availability(tool).active) return true
    return !agents.findSession(callerOf(row))?.grant(name)
  }

  /** Another process may have newer definitions, and a missing file of a tool or agent may come back. */
  function isVoid(row: Parameters<QueueDeps['isVoid']>[0]): boolean {
    if (!isAlone()) return false
    const status = requestStatus(row, catalogue)
    if (status !== 'valid') return status === 'changed'
    const session = agents.findSession(callerOf(row))
    return session?.agent() !== undefined && !session.grant(row.tool) && !session.withheld(row.tool)
  }

  function sessionFor(row: OperationRow): AgentSession {
    const session = agents.findSession(callerOf(row))
    if (session) return session
    throw new AppError('AGENT_NOT_FOUND', `There is no agent "${row.callerName}" any more, for whom it was to be done.`)
  }

  /** A denial or a revoked grant ends the operation before it runs. Where a grant has expired, a person is asked again. */
  async function runTerms(row: OperationRow): Promise<RunTerms> {
    const tool = catalogue.current().tools.get(row.tool)
    // The run of a changed tool fails and reports that, so no person is asked about it.
    if (!tool || tool.consent.length === 0 || !isSameTool(row, tool)) return { writes: [] }
    const { store, sealer } = await storage.open()
    const { id: operationId, digest } = row
    const session = sessionFor(row)
    const granted = session.grant(tool.name)
    const opened = openedArguments(row, sealer)
    // The same applies to a caller that no longer has the tool, and to arguments that cannot be opened.
    if (!granted || !opened) return { writes: [] }
    const { config } = granted
    const gated = { operationId, digest, tool, config, session, input: opened.input, consented: undefined }
    const decision = await deps.gate.decide(gated)
    if (decision.kind === 'denied') throw consentDenied(tool, decision.grant)
    if (decision.kind === 'allowed')
      return { writes: consentWrites(decision.grants, operationId, Math.round(clock.now())) }
    const { answeredAt } = (await store.get('approvals', operationId)) ?? {}
    const since = revocationsSince(row, answeredAt ?? row.createdAt, deps.settings)
    if (await deps.gate.isRevoked(gated, decision.asks, since)) throw consentRevoked(row.tool, row)
    return { asks: decision.asks }
  }

  async function run(row: OperationRow): Promise<void> {
    const { sealer } = await storage.open()
    let request: ResumeRequest
    try {
      request = {
        session: sessionFor(row),
        input: openArguments(row, sealer),
        effects: openEffects(row, sealer),
      }
    } catch (error) {
      return await refuse(row, toAppError(error))
    }
    await deps.calls.resume(row, request)
  }

  /** Ends an operation whose caller is gone, that is not allowed any more, or whose arguments cannot be opened. */
  async function refuse(row: OperationRow, failure: AppError): Promise<void> {
    operations.adopt(recordOf(row, {}), row)
    const end = await endOf(row, failure)
    try {
      await operations.end({ id: row.id, ...end })
    } catch (error) {
      // It is checked again when its lease expires.
      log.warn('an operation that may not be run could not be ended', { id: row.id, error: messageOf(error) })
    }
  }

  async function endOf(row: OperationRow, failure: AppError): Promise<Omit<OperationEnd, 'id'>> {
    const result = await failureVerifier.resultOf(row)
    const at = Math.round(clock.now())
    if (result) {
      const audit = auditOfRow(row, { at, outcome: 'succeeded', code: undefined })
      return { state: 'succeeded', outcome: 'succeeded', result, error: undefined, audit }
    }
    const audit = auditOfRow(row, { at, outcome: 'notRun', code: failure.code })
    const state = failure.code === 'CONSENT_DENIED' ? 'denied' : 'failed'
    return { state, outcome: undefined, result: undefined, error: failure.toJSON(), audit }
  }

  const queue = createQueue({
    ...deps,
    isReady,
    isVoid,
    isRunning: operations.isRunning,
    isHeld: approvals.isHeld,
    cannotRunHere,
    isAlone,
    askAgain: approvals.reopen,
    runTerms,
    refuse,
    run,
  })
  emitter.on('operation.changed', ({ to }) => {
    if (to === 'queued') queue.start()
  })
  for (const event of ['tools.restored', 'generation.swapped', 'agents.reloaded'] as const)
    emitter.on(event, () => queue.wake())
  return queue
}

function openedArguments(row: OperationRow, sealer: Sealer): { readonly input: unknown } | undefined {
  try {
    return { input: openArguments(row, sealer) }
  } catch {
    // The run opens them again, and reports the error.
    return undefined
  }
}

/**
 * From when on a revoked grant counts as a denial: since the operation was allowed, or since a person retried it, who knew of
 * earlier revocations and is asked again. The time of the retry is computed from the expiry, which stays the same however often
 * the operation is put back.
 */
function revocationsSince(
  row: OperationRow,
  allowedAt: number,
  settings: Pick<Settings, 'retryMaxAgeMinutes'>,
): number {
  const computedAt = expiryOf(row, settings) - settings.retryMaxAgeMinutes * 60_000
  // Where the setting has changed meanwhile the computed time may be in the future.
  const retriedAt = Math.min(computedAt, row.updatedAt)
  return retriedAt > Math.max(allowedAt, row.startedAt ?? allowedAt) ? retriedAt + 1 : allowedAt
}
