import { AppError, type MissingDependency } from '../../contracts/index.ts'
import type { Tool } from '../catalogue/index.ts'
import { type Health, stateInWords } from '../health/index.ts'

export interface HealthStageDeps {
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckTool' | 'settled'>
  readonly restartWaitMs: number
}

/** Whether a call can run at once: the usual case, answered without waiting for anything. */
export function isReady(tool: Tool, health: Pick<Health, 'availability'>): boolean {
  const { active, recovering } = health.availability(tool)
  return active && !recovering
}

/** Lets a call through when what it needs is there: after a recheck, or after waiting for what is recovering. */
export async function awaitHealth(
  tool: Tool,
  signal: AbortSignal,
  { health, restartWaitMs }: HealthStageDeps,
): Promise<void> {
  if (!health.availability(tool).active) await health.recheckTool(tool)
  if (health.availability(tool).recovering) await health.settled(tool, { budgetMs: restartWaitMs, signal })
  if (!isReady(tool, health)) throw disabled(tool, health.missing(tool, { withRecovering: true }))
}

/** Throws `TOOL_DISABLED` when something went away since the call was let through. */
export function refuseDisabled(tool: Tool, health: Pick<Health, 'availability' | 'missing'>): void {
  if (!health.availability(tool).active) throw disabled(tool, health.missing(tool))
}

function disabled(tool: Tool, missing: readonly MissingDependency[]): AppError {
  const message = `"${tool.name}" is disabled. ${missing.map(missingLine).join(' ')}`
  return new AppError('TOOL_DISABLED', message, { details: { tool: tool.name, missing } })
}

function missingLine(one: MissingDependency): string {
  const next =
    one.nextRecheckAt === undefined ? '' : ` It can be rechecked from ${new Date(one.nextRecheckAt).toISOString()} on.`
  const mend = one.mend === undefined ? '' : ` ${one.mend}`
  return `It needs "${one.dependency}", which is ${stateInWords(one.state)} for ${Math.round(one.ageMs / 1000)} s: ${one.reason}${mend}${next}`
}
