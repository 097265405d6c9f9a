import { AppError, isAppError, messageOf, stackOf } from '../../../contracts/index.ts'
import { blamedIn, type Health, type Needing } from '../../health/index.ts'
import type { Log } from '../../kernel/index.ts'
import type { Deadline } from '../path/deadline.ts'

/** What a definition is being asked to do. */
export interface DefinitionRun {
  readonly address: string
  readonly item: Needing
  readonly deadline: Deadline
}

export interface DefinitionRunDeps {
  readonly health: Pick<Health, 'reportFailure'>
  readonly log: Log
}

/** Lets a definition do its work, no longer than its deadline. What it throws becomes an error that names it. */
export async function runDefinition(
  run: DefinitionRun,
  deps: DefinitionRunDeps,
  work: () => unknown,
): Promise<unknown> {
  try {
    return await run.deadline.race((async () => work())())
  } catch (error) {
    throw failureOf(error, run, deps)
  }
}

function failureOf(error: unknown, { address, item, deadline }: DefinitionRun, { health, log }: DefinitionRunDeps) {
  const reason = deadline.reason()
  if (reason) return reason
  if (!isAppError(error)) {
    // There is no result that could say no, as a tool's can. The stack is for whoever wrote the definition.
    log.warn('a definition threw', { definition: address, error: stackOf(error) })
    const reason = messageOf(error) || 'it did not say why.'
    return new AppError('READING_FAILED', `"${address}" failed: ${reason}`, { cause: error })
  }
  const blamed = blamedIn(error, item)
  if (blamed !== undefined) health.reportFailure(blamed, error.message)
  return error
}
