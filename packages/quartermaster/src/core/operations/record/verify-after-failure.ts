import {
  AppError,
  type EffectReport,
  type ErrorBody,
  messageOf,
  type OperationOutcome,
  type OperationRow,
  TOLD_TOOLS,
  type ToolResult,
} from '../../../contracts/index.ts'
import { type Catalogue } from '../../catalogue/index.ts'
import { type CancelSignal, type Clock, type Log } from '../../kernel/index.ts'
import { type EffectKinds, kindsFor, verifyEffects } from '../effects/verify-effects.ts'
import { type EndState, type OperationEnd } from './operation-log.ts'
import { alreadyDone, type OperationSnapshot, type StorageAccess } from './operation-storage.ts'
import { openEffects } from './stored-results.ts'

/** Looks at what an operation was to leave behind, without running it: that takes no permission, and mostly no tool. */
export interface FailureVerifier {
  /** What is there of it; nothing where nothing is kept to look for. Throws when what is kept cannot be opened. */
  verify(row: OperationRow, options?: { readonly signal?: CancelSignal | undefined }): Promise<EffectReport | undefined>
  /** The result of one that is about to be given up, where an earlier run turns out to have done all of it. Never throws. */
  resultOf(row: OperationRow): Promise<ToolResult | undefined>
}

interface FailureVerifierDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly effectKinds: EffectKinds
}

export function createFailureVerifier({
  storage,
  clock,
  log,
  catalogue,
  effectKinds,
}: FailureVerifierDeps): FailureVerifier {
  /** What one's own capability brought can only be looked for while its tool is there; everything else always. */
  function kindsOf({ tool: name }: OperationRow): EffectKinds {
    const tool = catalogue.current().tools.get(name)
    return tool ? kindsFor(effectKinds, tool) : effectKinds
  }

  async function at(row: OperationRow, { signal }: { readonly signal?: CancelSignal | undefined } = {}) {
    const { sealer } = await storage.open()
    const kept = openEffects(row, sealer)
    return kept.length === 0 ? undefined : await verifyEffects(kept, kindsOf(row), { clock, signal })
  }

  return {
    verify: at,
    async resultOf(row) {
      if (!mayBeDone(row)) return undefined
      try {
        const found = await at(row)
        if (found?.verdict !== 'verified') return undefined
        return alreadyDone({ name: row.tool, effects: found.effects }, row.id).result
      } catch (error) {
        // Then the outcome stays unknown.
        log.warn('what an operation was to leave behind could not be looked at', {
          id: row.id,
          error: messageOf(error),
        })
        return undefined
      }
    },
  }
}

// What an earlier run of an operation may have done is done, whatever stops the operation later. Told as "not done", its
// caller would do it a second time.

/** Whether an earlier run may have done the work, with an unknown outcome. */
export function mayBeDone({ outcome }: Pick<OperationRow, 'outcome'>): boolean {
  return outcome === 'unknown'
}

/** What a failure says about what this run did; nothing where there was none, and none before it is in doubt by it. */
export function outcomeAfter(
  { code }: Pick<ErrorBody, 'code'>,
  { hasRun }: { readonly hasRun: boolean },
): OperationOutcome | undefined {
  // Also before a run: then it is an earlier run whose outcome is unknown.
  if (code === 'OUTCOME_UNKNOWN') return 'unknown'
  return hasRun ? 'failed' : undefined
}

/** Whether an end says that the work was not done, or was cancelled. */
export function isNegativeEnd(state: EndState): boolean {
  return state === 'expired' || state === 'exhausted' || isDefinite(state)
}

type Said = Pick<OperationEnd, 'state' | 'error'>

/** The end of an operation whose run may have done the work: never an end that says it was not done. */
export function uncertainEnd<E extends Said>(from: OperationSnapshot, end: E): E {
  if (!isNegativeEnd(end.state)) return end
  const state = isDefinite(end.state) ? 'unknown' : end.state
  return { ...end, state, error: doubtful(from, end.error).toJSON() }
}

function isDefinite(state: EndState): boolean {
  return state === 'failed' || state === 'denied' || state === 'cancelled'
}

/** Both: what stopped it now, and that it may be done. */
function doubtful({ id, tool, sealedEffects }: OperationSnapshot, why: ErrorBody | undefined): AppError {
  if (why?.code === 'OUTCOME_UNKNOWN') return AppError.fromJSON(why)
  const now = why?.message ?? `"${tool}" was tried again and said no.`
  const message = `${now} An earlier run of "${tool}" was cut off and may have done its work: look before you call it again.`
  const details = { tool, operationId: id, ...(why ? { because: why.code } : {}) }
  return new AppError('OUTCOME_UNKNOWN', `${message} ${whereToLook({ id, hasEffects: sealedEffects !== null })}`, {
    details,
  })
}

/** What there is to look for: an operation, and whether it says what it leaves behind. */
interface Looked {
  readonly id: string
  readonly hasEffects: boolean
}

/** The error of a call with an unknown outcome, with the operation to look for. */
export function withOperation(failure: AppError, { id, hasEffects }: Looked): AppError {
  if (failure.code !== 'OUTCOME_UNKNOWN' || failure.details?.operationId === id) return failure
  const details = { ...failure.details, operationId: id }
  return new AppError(failure.code, `${failure.message} ${whereToLook({ id, hasEffects })}`, {
    cause: failure,
    details,
  })
}

function whereToLook({ id, hasEffects }: Looked): string {
  const step = hasEffects
    ? `Look with \`quartermaster operations verify ${id}\``
    : `See \`quartermaster operations show ${id}\``
  return `Its operation is "${id}". ${step}; an agent asks \`${TOLD_TOOLS.status}\`.`
}
