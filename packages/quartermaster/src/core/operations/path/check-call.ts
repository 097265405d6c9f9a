import { AppError, issueText, type MissingDependency } from '../../../contracts/index.ts'
import { type AgentSession, type Grant, suggestTool } from '../../agents/index.ts'
import { type Tool, toolDisabled, type Validated } from '../../catalogue/index.ts'
import { type Health, type Needing, stateInWords } from '../../health/index.ts'
import { canonicalJson, type Digest, inputObject, sentence } from '../../kernel/index.ts'
import type { CallRequest } from './call-state.ts'

/**
 * The grant of a tool. A tool that is not granted does not exist for the caller: both give the same error. A granted tool that is
 * held back is reported as such: an agent that has seen it before would otherwise look for its own mistake.
 */
export function permit(session: AgentSession, name: string): Grant {
  const grant = session.grant(name)
  if (grant) return grant
  const withheld = session.withheld(name)
  if (withheld) throw toolDisabled(name, withheld.reason ?? '')
  const { tools, unavailable, presented } = session.view()
  const names = [...tools, ...unavailable.map(({ grant }) => grant), ...presented].map(({ tool }) => tool.name)
  const hint = suggestTool(name, { names, isOffered: tool => session.grant(tool) !== undefined })
  throw new AppError('TOOL_NOT_FOUND', `"${session.caller.name}" has no tool "${name}".${hint}`)
}

/** The request for the target of a forwarding tool; any other request unchanged. All checks then apply to the target. */
export function followForward<R extends Pick<CallRequest, 'session' | 'tool' | 'input'>>(request: R): R {
  const { session } = request
  const { tool } = permit(session, request.tool)
  if (!tool.forward) return request
  const checked = checkInput(tool, request.input)
  if (checked instanceof Promise) {
    // The promise is not awaited, so its rejection has no other handler.
    checked.catch(() => {})
    throw new AppError(
      'DEFINITION_INVALID',
      `The schema of "${tool.name}" checks asynchronously, so it cannot forward.`,
    )
  }
  const next = tool.forward(checked)
  // Otherwise a call could go round in circles.
  if (session.grant(next.tool)?.tool.forward)
    throw new AppError('INPUT_INVALID', `"${next.tool}" only leads to other tools. Name the tool you want.`)
  return { ...request, tool: next.tool, input: next.input }
}

interface HealthStageDeps {
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckFor' | 'settled'>
  readonly restartWaitMs: number
}

/** Whether a call can run at once: the usual case, without waiting. */
export function isReady(item: Needing, health: Pick<Health, 'availability'>): boolean {
  const { active, recovering } = health.availability(item)
  return active && !recovering
}

/** Waits for the dependencies of a tool: rechecks the missing, and waits for the recovering. Throws `TOOL_DISABLED`. */
export async function awaitHealth(tool: Tool, signal: AbortSignal, deps: HealthStageDeps): Promise<void> {
  if (await becomesReady(tool, signal, deps)) return
  throw disabled(tool, deps.health.missing(tool, { withRecovering: true }))
}

/** Rechecks missing dependencies and waits for recovering ones. Returns whether all are there then. */
export async function becomesReady(
  item: Needing,
  signal: AbortSignal,
  { health, restartWaitMs }: HealthStageDeps,
): Promise<boolean> {
  if (!health.availability(item).active) await health.recheckFor(item)
  if (health.availability(item).recovering) await health.settled(item, { budgetMs: restartWaitMs, signal })
  return isReady(item, health)
}

/** Throws `TOOL_DISABLED` when a dependency went away since it was checked. */
export function refuseDisabled(tool: Tool, health: Pick<Health, 'availability' | 'missing'>): void {
  if (!health.availability(tool).active) throw disabled(tool, health.missing(tool))
}

function disabled(tool: Tool, missing: readonly MissingDependency[]): AppError {
  const message = `"${tool.name}" is disabled. ${missingLines(missing)}`
  return new AppError('TOOL_DISABLED', message, { details: { tool: tool.name, missing } })
}

/** The missing dependencies: why, for how long, and what to do. */
export function missingLines(missing: readonly MissingDependency[]): string {
  return missing.map(missingLine).join(' ')
}

function missingLine(one: MissingDependency): string {
  const next =
    one.nextRecheckAt === undefined ? '' : ` It can be rechecked from ${new Date(one.nextRecheckAt).toISOString()} on.`
  const fix = one.fix === undefined ? '' : ` ${sentence(one.fix)}`
  return `It needs "${one.dependency}", which is ${stateInWords(one.state)} for ${Math.round(one.ageMs / 1000)} s: ${sentence(one.reason)}${fix}${next}`
}

/** Validates the arguments and returns the input of the handler. */
export function checkInput(tool: Tool, input: unknown): unknown {
  const checked = tool.validateInput(inputObject(tool.name, input))
  return checked instanceof Promise ? checked.then(result => inputOf(tool, result)) : inputOf(tool, checked)
}

function inputOf(tool: Tool, checked: Validated): unknown {
  if (checked.ok) return checked.value
  const lines = checked.issues.map(issueText)
  throw new AppError('INPUT_INVALID', `The arguments of "${tool.name}" are wrong. ${lines.join(' ')}`, {
    details: { issues: checked.issues },
  })
}

/**
 * The digest of the arguments as JSON, which is what a person is shown and what runs after a wait. Throws `INPUT_INVALID` for
 * numbers that JSON cannot represent, such as 1e400, which would become null. (-0 becomes 0, which no tool depends on.)
 */
export function digestOf(tool: Tool, input: unknown, digest: Digest): string {
  const text = textOf(tool, input)
  // Such a number was written as null.
  const path = text.includes('null') ? endlessIn(input, []) : undefined
  if (path === undefined) return digest(text)
  const issue = { path, message: 'The number is too large, or none at all.' }
  throw new AppError('INPUT_INVALID', `The arguments of "${tool.name}" are wrong. ${issueText(issue)}`, {
    details: { issues: [issue] },
  })
}

function textOf(tool: Tool, input: unknown): string {
  try {
    return canonicalJson(input ?? {})
  } catch (error) {
    throw new AppError('INPUT_INVALID', `The arguments of "${tool.name}" cannot be written as JSON.`, {
      cause: error,
    })
  }
}

type Path = readonly string[]

/** The path of the first number that is not finite. The value was serialised before, so it has no cycles. */
function endlessIn(value: unknown, path: Path): Path | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    const found = endlessIn(item, [...path, key])
    if (found) return found
  }
  return undefined
}
