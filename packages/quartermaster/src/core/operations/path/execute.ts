import {
  AppError,
  type CallAnswer,
  type EffectReport,
  type EffectSpec,
  ERRORS,
  isAppError,
  type Settings,
  type ToolResult,
} from '../../../contracts/index.ts'
import { type SchemaCompiler, type Tool, waitReason } from '../../catalogue/index.ts'
import type { Health } from '../../health/index.ts'
import type { Clock, Log } from '../../kernel/index.ts'
import { type ConsentGate, consentDenied, consentRequired, consentRevoked } from '../consent/consent-decision.ts'
import {
  concreteEffects,
  type EffectKinds,
  kindsFor,
  missingOf,
  takeBaseline,
  verifyEffects,
} from '../effects/verify-effects.ts'
import type { OperationLog } from '../record/operation-log.ts'
import type { Operations } from '../record/operations.ts'
import { alreadyDone } from '../record/verify-after-failure.ts'
import { type ContextParts, RunContext } from './call-context.ts'
import type { CallState } from './call-state.ts'
import { permit, refuseDisabled } from './check-call.ts'
import type { Deadline } from './deadline.ts'
import type { KeptResults } from './kept-results.ts'
import { runTool } from './run-tool.ts'

/** A call that passed all checks. The configuration belongs to the tool's own generation. */
interface ReadyCall {
  readonly callState: CallState
  readonly tool: Tool
  readonly config: unknown
  readonly input: unknown
  readonly deadline: Deadline
}

export interface ExecuteDeps {
  readonly health: Pick<Health, 'availability' | 'missing' | 'reportFailure'>
  readonly gate: ConsentGate
  readonly effects: EffectsStage
  readonly results: KeptResults
  readonly records: Pick<Operations, 'show' | 'waiting'>
  readonly compiler: SchemaCompiler
  readonly log: Log
  readonly settings: Pick<Settings, 'retryAttempts'>
}

/** Runs a recorded call. The wait took time, so permission, health and consent are checked again. */
export async function execute(
  ready: ReadyCall,
  nested: ContextParts['nested'],
  deps: ExecuteDeps,
): Promise<CallAnswer> {
  const { callState, tool, config, input, deadline } = ready
  const { log, compiler, records, results } = deps
  const { operationId } = callState
  const looking = refuseOutdated(ready, deps)
  if (looking) await looking
  deadline.limitRun(tool.timeoutMs, `"${tool.name}"`)
  const effectful = tool.effects.length > 0 ? ready : undefined
  const missingEffects = effectful ? await deps.effects.before(effectful) : NOTHING
  if (missingEffects === 'done') return alreadyDone(tool, operationId)
  refuseExtraRun(callState, deps.settings)
  const late = deadline.reason()
  if (late) throw late
  callState.hasRun = true
  const parts = { tool, config, deadline, log, compiler, records, results, missingEffects, nested }
  const context = new RunContext(callState, parts)
  const running = runTool({ tool, input, context, deadline }, deps)
  const result = await (effectful ? confirmed(running, effectful, deps.effects) : running).catch(error => {
    callState.wasHeldBack = waitReason(context) !== undefined
    throw error
  })
  const { isRecorded, request } = callState
  const { caller } = request.session
  const { maxResultBytes: maxBytes, maxBinaryBytes } = tool
  const isPromised = tool.validateOutput !== undefined
  const limiting = results.limit(result, { maxBytes, maxBinaryBytes, isPromised, caller, operationId, isRecorded })
  const limited = limiting instanceof Promise ? await limiting : limiting
  callState.whole = limited.whole
  return { operationId, result: limited.result, kept: limited.kept }
}

const NOTHING: readonly never[] = Object.freeze([])

/** Checks deadline, permission, health and consent. Returns nothing to await where no consent is needed. */
function refuseOutdated(ready: ReadyCall, { health, gate }: ExecuteDeps): Promise<void> | undefined {
  const { callState, tool, deadline } = ready
  const late = deadline.reason()
  if (late) throw late
  permit(callState.request.session, tool.name)
  if (callState.request.whenDisabled !== 'run') refuseDisabled(tool, health)
  return tool.consent.length > 0 ? refuseRevoked(ready, gate) : undefined
}

/** The person who allowed it may have revoked it since. */
async function refuseRevoked({ callState, tool, config, deadline }: ReadyCall, gate: ConsentGate): Promise<void> {
  const { operationId, digest, request, resumed, startedAt } = callState
  const { session, input, consented } = request
  const call = { operationId, session, tool, config, digest, input, consented }
  const decision = await deadline.race(gate.decide(call))
  if (decision.kind === 'denied') throw consentDenied(tool, decision.grant)
  if (decision.kind === 'allowed') return
  // A resumed operation was allowed when it was leased. Where its grant has only expired, the queue asks a person again.
  const since = resumed?.updatedAt ?? Math.round(startedAt)
  const isTakenBack = await deadline.race(gate.isRevoked(call, decision.asks, since))
  throw isTakenBack ? consentRevoked(tool.name, resumed) : consentRequired(tool, decision.asks, digest)
}

/** An operation whose last run was lost is resumed once more, only to verify its effects. */
function refuseExtraRun({ resumed, request }: CallState, { retryAttempts }: Pick<Settings, 'retryAttempts'>): void {
  if (!resumed || resumed.attempts <= retryAttempts) return
  if (resumed.error) throw AppError.fromJSON(resumed.error)
  throw new AppError('OUTCOME_UNKNOWN', `"${request.tool}" was run ${retryAttempts} times, and may have done its work.`)
}

/** Verifies the effects of a run, also after a failure: a run that was cut off may have done all of the work. */
async function confirmed(
  running: Promise<ToolResult>,
  effectful: EffectfulRun,
  effects: EffectsStage,
): Promise<ToolResult> {
  try {
    const result = await running
    if (!result.isError) await effects.confirm(effectful)
    return result
  } catch (error) {
    if (!isUncertain(error) || !(await effects.isDone(effectful))) throw error
    return alreadyDone(effectful.tool, effectful.callState.operationId).result
  }
}

/** A failure after which it is unknown whether the work was done. */
function isUncertain(error: unknown): boolean {
  return isAppError(error) && (error.code === 'OUTCOME_UNKNOWN' || ERRORS[error.code].retry === 'later')
}

/** A call whose tool declares effects. */
export interface EffectfulRun {
  readonly callState: CallState
  readonly tool: Tool
  readonly config: unknown
  readonly input: unknown
  readonly deadline: Deadline
}

/** Verifies the effects of a call: before it runs, as a baseline, and after. */
export interface EffectsStage {
  /** The effects that are still missing; `done` when an earlier run has done all of the work. */
  before(run: EffectfulRun): Promise<readonly EffectSpec[] | 'done'>
  /** Throws `OUTCOME_UNKNOWN` unless all effects are there. */
  confirm(run: EffectfulRun): Promise<void>
  /** Whether a failed run has done its work all the same. */
  isDone(run: EffectfulRun): Promise<boolean>
}

interface EffectsStageDeps {
  readonly effectKinds: EffectKinds
  readonly clock: Clock
  readonly operations: Pick<OperationLog, 'keepEffects'>
}

export function createEffectsStage({ effectKinds, clock, operations }: EffectsStageDeps): EffectsStage {
  /** Taken once, before the first run: later runs are compared with the state before all of them. */
  async function takeFirstBaseline({ callState, tool, config, input, deadline }: EffectfulRun): Promise<void> {
    const { operationId } = callState
    const kinds = kindsFor(effectKinds, tool)
    const effects = concreteEffects(tool.effects, { input, config, operationId }, kinds)
    const kept = await deadline.race(takeBaseline(effects, kinds, { clock, signal: deadline.signal() }))
    await operations.keepEffects(operationId, kept)
    callState.effects = kept
  }

  function look({ callState, tool }: EffectfulRun): Promise<EffectReport> {
    return verifyEffects(callState.effects, kindsFor(effectKinds, tool), { clock })
  }

  return {
    async before(run) {
      const { callState, tool } = run
      if (callState.effects.length === 0) {
        await takeFirstBaseline(run)
        return NOTHING_MISSING
      }
      const verdict = await look(run)
      if (verdict.verdict === 'verified') return 'done'
      // Where the effects are unclear, a tool that may run twice runs. One that must verify first is verified again later.
      if (verdict.verdict === 'indeterminate' && tool.retry === 'verifyFirst') throw uncertain(tool, verdict)
      return missingOf(verdict, tool.effects)
    },
    async confirm(run) {
      const verdict = await look(run)
      if (verdict.verdict !== 'verified') throw uncertain(run.tool, verdict)
    },
    isDone: async run => (await look(run)).verdict === 'verified',
  }
}

const NOTHING_MISSING: readonly EffectSpec[] = Object.freeze([])

function uncertain({ name }: Tool, { verdict, effects }: EffectReport): AppError {
  const missing = effects.filter(({ state }) => state !== 'verified').map(one => `"${one.name}" (${one.reason})`)
  const message = `What "${name}" was to leave behind is not all there: ${missing.join(', ')}`
  return new AppError('OUTCOME_UNKNOWN', message, { details: { tool: name, verdict, effects } })
}
