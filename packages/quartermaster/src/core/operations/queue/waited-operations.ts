import { AppError, type OperationRow, toAppError } from '../../../contracts/index.ts'
import type { Agents } from '../../agents/index.ts'
import type { Catalogue } from '../../catalogue/index.ts'
import type { Health } from '../../health/index.ts'
import type { Emitter } from '../../kernel/index.ts'
import type { Write } from '../../store/index.ts'
import type { Approvals } from '../consent/approvals.ts'
import { type ConsentGate, consentDenied } from '../consent/consent-gate.ts'
import { consentWrites } from '../consent/consent-writes.ts'
import type { Calls } from '../path/call-request.ts'
import type { OperationLog } from '../record/operation-log.ts'
import { recordOf } from '../record/operation-record.ts'
import { openArguments } from '../record/operation-row.ts'
import { auditOfRow } from '../record/waited-audit.ts'
import { createQueue, type Queue, type QueueDeps } from './queue.ts'

export interface WaitedOperationsDeps
  extends Omit<QueueDeps, 'isReady' | 'isRunning' | 'isHeld' | 'terms' | 'refuse' | 'run'> {
  readonly emitter: Emitter
  readonly agents: Pick<Agents, 'seat'>
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly health: Pick<Health, 'availability'>
  readonly calls: Pick<Calls, 'resume'>
  readonly operations: Pick<OperationLog, 'adopt' | 'end' | 'running'>
  readonly gate: ConsentGate
  readonly approvals: Pick<Approvals, 'isHeld'>
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

  /** A no that came meanwhile, or a yes that was taken back, ends it before it runs. */
  async function terms(row: OperationRow): Promise<readonly Write[]> {
    const tool = catalogue.current().tools.get(row.tool)
    if (!tool || tool.consent.length === 0) return []
    const { sealer } = await storage.open()
    const { id: operationId, digest } = row
    const call = { operationId, digest, tool, seat: agents.seat(row.callerName), input: openArguments(row, sealer) }
    const decision = await gate.decide({ ...call, consented: undefined })
    if (decision.kind === 'denied') throw consentDenied(tool, decision.grant)
    if (decision.kind === 'missing') throw takenBack(row)
    return consentWrites(decision.grants, operationId, Math.round(clock.now()))
  }

  async function run(row: OperationRow): Promise<void> {
    try {
      const { sealer } = await storage.open()
      await calls.resume(row, { seat: agents.seat(row.callerName), input: openArguments(row, sealer) })
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

  const queue = createQueue({ ...deps, isReady, isRunning, isHeld: approvals.isHeld, terms, refuse, run })
  emitter.on('operation.changed', ({ to }) => {
    if (to === 'queued') queue.start()
  })
  for (const event of ['tools.restored', 'generation.swapped', 'agents.reloaded'] as const)
    emitter.on(event, () => queue.wake())
  return queue
}

function takenBack({ tool }: OperationRow): AppError {
  const message = `What allowed "${tool}" was taken back, or has run out, before it could be done. Call it again to ask anew.`
  return new AppError('CONSENT_DENIED', message, { details: { tool } })
}
