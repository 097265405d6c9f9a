import { AppError, type EffectReport, type EffectSpec } from '../../../contracts/index.ts'
import type { Tool } from '../../catalogue/index.ts'
import type { Clock } from '../../kernel/index.ts'
import {
  concreteEffects,
  type EffectKinds,
  kindsFor,
  missingOf,
  takeBaseline,
  verifyEffects,
} from '../effects/verify-effects.ts'
import type { OperationLog } from '../record/operation-log.ts'
import type { Deadline } from './deadline.ts'
import type { CallState } from './journey.ts'

/** A call whose tool leaves something behind outside. */
export interface EffectfulRun {
  readonly callState: CallState
  readonly tool: Tool
  readonly config: unknown
  readonly input: unknown
  readonly deadline: Deadline
}

/** Looks at what a call leaves behind: before it runs, so that what was there proves nothing, and after. */
export interface EffectsStage {
  /** What the tool still has to do; `done` when an earlier run has done all of it. */
  before(run: EffectfulRun): Promise<readonly EffectSpec[] | 'done'>
  /** Throws `OUTCOME_UNKNOWN` unless everything is there that the tool says it has done. */
  confirm(run: EffectfulRun): Promise<void>
  /** Whether a run that failed has done its work all the same. */
  isDone(run: EffectfulRun): Promise<boolean>
}

interface EffectsStageDeps {
  readonly effectKinds: EffectKinds
  readonly clock: Clock
  readonly operations: Pick<OperationLog, 'keepEffects'>
}

export function createEffectsStage({ effectKinds, clock, operations }: EffectsStageDeps): EffectsStage {
  /** Looked at once, before the first run: later ones are held against the world as it was before any of them. */
  async function takeFirstLook({ callState, tool, config, input, deadline }: EffectfulRun): Promise<void> {
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
        await takeFirstLook(run)
        return NOTHING_MISSING
      }
      const verdict = await look(run)
      if (verdict.verdict === 'verified') return 'done'
      // A tool that may be run twice is run where the effects are unclear. A tool that must verify first looks again later.
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
