import { AppError, type OperationRow, toAppError } from '../../../contracts/index.ts'
import type { Agents } from '../../agents/index.ts'
import type { Catalogue } from '../../catalogue/index.ts'
import type { Health } from '../../health/index.ts'
import type { Emitter } from '../../kernel/index.ts'
import type { Approvals } from '../consent/approvals.ts'
import { type ConsentGate, consentDenied } from '../consent/consent-gate.ts'
import { consentWrites } from '../consent/consent-writes.ts'
import type { Calls } from '../path/call-request.ts'
import { openEffects } from '../record/kept-effects.ts'
import type { OperationLog } from '../record/operation-log.ts'
import { recordOf } from '../record/operation-record.ts'
import { openArguments } from '../record/operation-row.ts'
import { auditOfRow } from '../record/waited-audit.ts'
import { createQueue, type Queue, type QueueDeps, type RunTerms } from './queue.ts'

export interface WaitedOperationsDeps
  extends Omit<QueueDeps, 'isReady' | 'isRunning' | 'isHeld' | 'terms' | 'askAgain' | 'refuse' | 'run'> {
  readonly emitter: Emitter
  readonly agents: Pick<Agents, 'seat'>
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly health: Pick<Health, 'availability'>
  readonly calls: Pick<Calls, 'resume'>
  readonly operations: Pick<OperationLog, 'adopt' | 'end' | 'running'>
  readonly gate: ConsentGate
  readonly approvals: Pick<Approvals, 'isHeld' | 'askAgain'>
}

/** Runs what waited along the call path, as whoever asked for it. It begins by itself when there is something. */
export function createWaitedOperations(deps: WaitedOperationsDeps): Queue {
  const { storage, clock, emitter, agents, catalogue, health, calls, operations, gate, approvals } = deps

  /** A tool that is gone is ready: only a run finds out, and tells, that it cannot be. */
  function isReady({ tool: name }: Pick<OperationRow, 'tool'>): boolean {
    const tool = catalogue.current().tools.get(name)
    return !tool || health.availability(tool).active
  }

  const isRunning = (id: string) => operations.running().some(({ record }) => record.id === id)

  /** A no that came meanwhile, or a yes that was taken back, ends it before it runs. A yes that ran out is asked for again. */
  async function terms(row: OperationRow): Promise<RunTerms> {
    const tool = catalogue.current().tools.get(row.tool)
    // Of a tool that has changed only a run finds out, and tells, that it cannot be: nobody need be asked about it.
    if (!tool || tool.consent.length === 0 || tool.hash !== row.definitionHash) return { writes: [] }
    const { store, sealer } = await storage.open()
    const { id: operationId, digest } = row
    const call = { operationId, digest, tool, seat: agents.seat(row.callerName), input: openArguments(row, sealer) }
    const gated = { ...call, consented: undefined }
    const decision = await gate.decide(gated)
    if (decision.kind === 'denied') throw consentDenied(tool, decision.grant)
    if (decision.kind === 'allowed')
      return { writes: consentWrites(decision.grants, operationId, Math.round(clock.now())) }
    const { answeredAt } = (await store.get('approvals', operationId)) ?? {}
    if (await gate.isTakenBack(gated, decision.asks, answeredAt ?? row.createdAt)) throw takenBack(row)
    return { asks: decision.asks }
  }

  async function run(row: OperationRow): Promise<void> {
    try {
      const { sealer } = await storage.open()
      const [input, effects] = [openArguments(row, sealer), openEffects(row, sealer)]
      await calls.resume(row, { seat: agents.seat(row.callerName), input, effects })
    } catch (error) {
      await refuse(row, toAppError(error))
    }
  }

  /** Nobody is there to run it for, or nobody can read what it was to do. */
  async function refuse(row: OperationRow, failure: AppError): Promise<void> {
    const at = Math.round(clock.now())
    operations.adopt(recordOf(row, {}), row)
    const audit = auditOfRow(row, { at, outcome: 'notRun', code: failure.code })
    const error = failure.toJSON()
    const state = failure.code === 'CONSENT_DENIED' ? 'denied' : 'failed'
    await operations.end({ id: row.id, state, outcome: undefined, result: undefined, error, audit })
  }

  const queue = createQueue({
    ...deps,
    isReady,
    isRunning,
    isHeld: approvals.isHeld,
    askAgain: approvals.askAgain,
    terms,
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

function takenBack({ tool }: OperationRow): AppError {
  const message = `What allowed "${tool}" was taken back before it could be done. Call it again to ask anew.`
  return new AppError('CONSENT_DENIED', message, { details: { tool } })
}
