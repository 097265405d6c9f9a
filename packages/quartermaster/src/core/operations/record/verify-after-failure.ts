import {
  AppError,
  type CallAnswer,
  type EffectReport,
  type ErrorBody,
  messageOf,
  type OperationOutcome,
  type OperationRow,
  TOOL_NAMES,
  type ToolResult,
} from '../../../contracts/index.ts'
import { type Catalogue } from '../../catalogue/index.ts'
import { type CancelSignal, type Clock, type Log } from '../../kernel/index.ts'
import { type EffectKinds, kindsFor, verifyEffects } from '../effects/verify-effects.ts'
import { type EndState, type OperationEnd } from './operation-log.ts'
import { type OperationSnapshot, type StorageAccess } from './operation-storage.ts'
import { openEffects } from './stored-results.ts'

/** Verifies the effects of an operation without running it: that needs no permission, and mostly no tool. */
export interface FailureVerifier {
  /** Nothing where no effects are recorded. Throws when the record of them cannot be opened. */
  verify(row: OperationRow, options?: { readonly signal?: CancelSignal | undefined }): Promise<EffectReport | undefined>
  /** The result of an operation that is about to end as not done, where an earlier run has done all of it. Never throws. */
  resultOf(row: OperationRow): Promise<ToolResult | undefined>
}

export function createFailureVerifier(deps: {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly effectKinds: EffectKinds
}): FailureVerifier {
  const { storage, clock, log, catalogue, effectKinds } = deps

  /** Kinds of a capability's own can only be verified while its tool is there; all others always. */
  function kindsOf({ tool: name }: OperationRow): EffectKinds {
    const tool = catalogue.current().tools.get(name)
    return tool ? kindsFor(effectKinds, tool) : effectKinds
  }

  async function verify(row: OperationRow, { signal }: { readonly signal?: CancelSignal | undefined } = {}) {
    const { sealer } = await storage.open()
    const kept = openEffects(row, sealer)
    return kept.length === 0 ? undefined : await verifyEffects(kept, kindsOf(row), { clock, signal })
  }

  return {
    verify,
    async resultOf(row) {
      if (!mayBeDone(row)) return undefined
      try {
        const found = await verify(row)
        if (found?.verdict !== 'verified') return undefined
        return alreadyDone({ name: row.tool, effects: found.effects }, row.id).result
      } catch (error) {
        // Then the outcome stays unknown.
        log.warn('the effects of an operation could not be verified', { id: row.id, error: messageOf(error) })
        return undefined
      }
    },
  }
}

/** The answer to a call that an earlier run had done, of which only the effects are known. */
export function alreadyDone(
  { name, effects }: { readonly name: string; readonly effects: readonly { readonly name: string }[] },
  operationId: string,
): CallAnswer {
  const names = effects.map(effect => `"${effect.name}"`).join(', ')
  const text = `"${name}" is done. A run of it was cut off; that all it leaves behind is there was verified: ${names}.`
  return { operationId, result: { content: [{ type: 'text', text }] } }
}

// An earlier run may have done the work, whatever stops the operation later. Told that it was not done, the caller would do it a
// second time.

/** Whether an earlier run may have done the work. */
export function mayBeDone({ outcome }: Pick<OperationRow, 'outcome'>): boolean {
  return outcome === 'unknown'
}

/** The outcome of a run that failed; nothing where the tool was not run. */
export function outcomeAfter(
  { code }: Pick<ErrorBody, 'code'>,
  { hasRun }: { readonly hasRun: boolean },
): OperationOutcome | undefined {
  // Also without a run: then the outcome of an earlier run is unknown.
  if (code === 'OUTCOME_UNKNOWN') return 'unknown'
  return hasRun ? 'failed' : undefined
}

/** Whether an end says that the work was not done. */
export function isNegativeEnd(state: EndState): boolean {
  return state === 'expired' || state === 'exhausted' || isDefinite(state)
}

/** The end of an operation whose earlier run may have done the work: never one that says it was not done. */
export function uncertainEnd<E extends Pick<OperationEnd, 'state' | 'error'>>(from: OperationSnapshot, end: E): E {
  if (!isNegativeEnd(end.state)) return end
  const state = isDefinite(end.state) ? 'unknown' : end.state
  return { ...end, state, error: uncertainError(from, end.error).toJSON() }
}

function isDefinite(state: EndState): boolean {
  return state === 'failed' || state === 'denied' || state === 'cancelled'
}

/** Names both what stopped the operation now, and that it may be done. */
function uncertainError({ id, tool, sealedEffects }: OperationSnapshot, why: ErrorBody | undefined): AppError {
  if (why?.code === 'OUTCOME_UNKNOWN') return AppError.fromJSON(why)
  const now = why?.message ?? `"${tool}" was tried again and said no.`
  const message = `${now} An earlier run of "${tool}" was cut off and may have done its work: look before you call it again.`
  const details = { tool, operationId: id, ...(why ? { because: why.code } : {}) }
  return new AppError('OUTCOME_UNKNOWN', `${message} ${whereToLook({ id, hasEffects: sealedEffects !== null })}`, {
    details,
  })
}

interface OperationHint {
  readonly id: string
  /** Whether its effects can be verified. */
  readonly hasEffects: boolean
}

/** Adds the operation to look at to the error of a call with an unknown outcome. */
export function withOperation(failure: AppError, { id, hasEffects }: OperationHint): AppError {
  if (failure.code !== 'OUTCOME_UNKNOWN' || failure.details?.operationId === id) return failure
  const details = { ...failure.details, operationId: id }
  return new AppError(failure.code, `${failure.message} ${whereToLook({ id, hasEffects })}`, {
    cause: failure,
    details,
  })
}

function whereToLook({ id, hasEffects }: OperationHint): string {
  const step = hasEffects
    ? `Look with \`quartermaster operations verify ${id}\``
    : `See \`quartermaster operations show ${id}\``
  return `Its operation is "${id}". ${step}; an agent asks \`${TOOL_NAMES.status}\`.`
}
