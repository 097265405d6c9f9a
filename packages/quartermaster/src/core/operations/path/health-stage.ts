import { AppError, type MissingDependency } from '../../../contracts/index.ts'
import type { Tool } from '../../catalogue/index.ts'
import { type Health, type Needing, stateInWords } from '../../health/index.ts'
import { sentence } from '../../kernel/index.ts'

interface HealthStageDeps {
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckFor' | 'settled'>
  readonly restartWaitMs: number
}

/** Whether a call can run at once: the usual case, answered without waiting for anything. */
export function isReady(item: Needing, health: Pick<Health, 'availability'>): boolean {
  const { active, recovering } = health.availability(item)
  return active && !recovering
}

/** Lets a call through when what it needs is there: after a recheck, or after waiting for what is recovering. */
export async function awaitHealth(tool: Tool, signal: AbortSignal, deps: HealthStageDeps): Promise<void> {
  if (await becomesReady(tool, signal, deps)) return
  throw disabled(tool, deps.health.missing(tool, { withRecovering: true }))
}

/** Looks again at what is missing, and waits for what is recovering. Answers whether all of it is there then. */
export async function becomesReady(
  item: Needing,
  signal: AbortSignal,
  { health, restartWaitMs }: HealthStageDeps,
): Promise<boolean> {
  if (!health.availability(item).active) await health.recheckFor(item)
  if (health.availability(item).recovering) await health.settled(item, { budgetMs: restartWaitMs, signal })
  return isReady(item, health)
}

/** Throws `TOOL_DISABLED` when something went away since the call was let through. */
export function refuseDisabled(tool: Tool, health: Pick<Health, 'availability' | 'missing'>): void {
  if (!health.availability(tool).active) throw disabled(tool, health.missing(tool))
}

function disabled(tool: Tool, missing: readonly MissingDependency[]): AppError {
  const message = `"${tool.name}" is disabled. ${missingLines(missing)}`
  return new AppError('TOOL_DISABLED', message, { details: { tool: tool.name, missing } })
}

/** What is missing, why, for how long, and what to do: a few sentences for each. */
export function missingLines(missing: readonly MissingDependency[]): string {
  return missing.map(missingLine).join(' ')
}

function missingLine(one: MissingDependency): string {
  const next =
    one.nextRecheckAt === undefined ? '' : ` It can be rechecked from ${new Date(one.nextRecheckAt).toISOString()} on.`
  const fix = one.fix === undefined ? '' : ` ${sentence(one.fix)}`
  return `It needs "${one.dependency}", which is ${stateInWords(one.state)} for ${Math.round(one.ageMs / 1000)} s: ${sentence(one.reason)}${fix}${next}`
}
