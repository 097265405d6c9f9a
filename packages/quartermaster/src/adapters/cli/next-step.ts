import { type AppError, type ErrorCode, TOLD_TOOLS } from '../../contracts/index.ts'
import { upstreamBehind } from '../../core/kernel/index.ts'
import { detail, toolOf } from './error-details.ts'
import { isSwitchedOff, type Look } from './explain.ts'
import type { Hints } from './session.ts'
import { shellWord } from './shell-word.ts'

/** What a person can do about an error, as lines to copy where there are any. */
export function nextStep(error: AppError, hints: Hints, asked: Asked): string | undefined {
  return NEXT_STEPS[error.code]?.(hints, error, asked)
}

/** Who answered. */
type Asked = Pick<Look, 'from'>
type Step = (hints: Hints, error: AppError, asked: Asked) => string | undefined

const NEXT_STEPS: { readonly [K in ErrorCode]?: Step } = {
  TOOL_NOT_FOUND: findTool,
  TOOL_DISABLED: enableTool,
  INPUT_INVALID: ({ tool }) => (tool ? `See what it takes: ${command('tools', tool)}` : undefined),
  CONSENT_REQUIRED: allow,
  DEADLINE_EXCEEDED: giveMoreTime,
  DEPENDENCY_UNAVAILABLE: seeWhatIsDown,
  DEPENDENCY_UNKNOWN: () => `See all dependencies: ${command('status')}`,
  OUTCOME_UNKNOWN: lookFirst,
  AGENT_NOT_FOUND: ({ agent = 'NAME', capability = 'CAPABILITY' }) =>
    `See all agents: ${command('agents')}, or make it: ${command('grant', agent, capability, '--create')}`,
  AGENT_INVALID: fixAgent,
  CAPABILITY_UNKNOWN: () => `See all capabilities: ${command('capabilities')}`,
  CONFIG_INVALID: () => `See everything that is wrong: ${command('doctor')}`,
  DEFINITION_INVALID: () => `See everything that is wrong: ${command('doctor')}`,
  NAME_UNKNOWN: seeNames,
  NAME_AMBIGUOUS: (hints, error) => lookAgain(hints) ?? sayWhich(hints, error),
  EDIT_CONFLICT: hints => lookAgain(hints) ?? 'Run the command again.',
  STORE_LOCKED: waitOrShare,
  INTERNAL: () => `Look for a cause: ${command('doctor')}`,
}

function giveMoreTime(_: Hints, { details }: AppError): string {
  if (details?.runLimitMs === undefined) return 'Give it more time: add --timeout 2m'
  return 'That is its own limit. Give it more as "timeoutMs" where it is defined: for a tool of an MCP server in its entry of mcpServers.'
}

/**
 * A connection that an agent has to itself is told with its upstream, by whoever has it; of everybody's the status tells. Where
 * nobody keeps a server, the status knows nothing of what has just failed, and only another try tells. One that is busy is not to
 * be fixed.
 */
function seeWhatIsDown(
  { tool }: Hints,
  { details: { upstream, agent, dependency, retryAfterMs, url } = {} }: AppError,
  { from }: Asked,
): string | undefined {
  // It is the `up` itself, and the message says how to have it back.
  if (url !== undefined) return undefined
  const isKept = from === 'up'
  if (typeof upstream === 'string' && typeof agent === 'string') {
    return isKept
      ? `See how it stands: ${command('upstreams', 'show', upstream)}`
      : 'Fix what is said here, then call it again.'
  }
  const server = typeof dependency === 'string' ? upstreamBehind(dependency) : undefined
  if (server !== undefined && !isKept && retryAfterMs === undefined)
    return `Fix what is said here, then try it: ${command('upstreams', 'restart', server)}`
  const look = `See what is down: ${command('status')}`
  return tool === undefined ? look : `${look}, then: ${command('recheck', `tool:${tool}`)}`
}

/** Whoever does not say where it listens is most often another command. */
function waitOrShare(_: Hints, { details }: AppError): string {
  if (details?.url !== undefined)
    return 'Another process owns the data folder. Stop it, or name another folder with --data.'
  return `Run it again when the other one is done. An up serves any number of commands at once: ${command('up')}`
}

function lookFirst(_: Hints, { details }: AppError): string {
  const first = 'It may have happened. Look at what it changes before you run it again'
  const id = details?.operationId
  return typeof id === 'string' ? `${first}: ${command('operations', 'show', id)}` : `${first}.`
}

function seeNames(hints: Hints): string {
  if (hints.isApproval) return `See what waits for you: ${command('approvals')}`
  if (hints.operation !== undefined) return `See all operations: ${command('operations', 'list')}`
  if (hints.listing !== undefined) return `See all of them: ${command(...hints.listing)}`
  if (hints.upstream === undefined) return `See what there is: ${command('status')} and ${command('tools')}`
  return lookAgain(hints) ?? `See all upstreams: ${command('upstreams')}`
}

function findTool(hints: Hints): string {
  const { agent, tool = '', grant, isAgentBroken, comesAlong } = hints
  if (comesAlong) return `It comes by itself with ${COMES_WITH[tool] ?? ''}"view": "gateway" in the agent's file.`
  if (agent === undefined) return `See what there is: ${command('tools')}`
  if (isAgentBroken) return fixAgent(hints)
  if (grant === undefined) return `See what it has: ${command('tools', '--agent', agent)}`
  const only = grant.tools === undefined ? [] : ['--tools', grant.tools.join(',')]
  return `Give it: ${command('grant', agent, grant.capability, ...only)}`
}

/** What brings a tool along beside the gateway view. */
const COMES_WITH: Readonly<Record<string, string>> = {
  [TOLD_TOOLS.docs]: "a page of the project's own in knowledge/, or with ",
  [TOLD_TOOLS.status]: 'a tool whose calls may have to wait, or with ',
}

function fixAgent({ agent = 'NAME' }: Hints): string {
  return `See what is wrong with its file: ${command('agents', 'check', agent)}`
}

/** With its kind before the name, because a capability or a dependency often has the same one. */
function enableTool({ tool: called = 'NAME' }: Hints, error: AppError): string | undefined {
  const tool = toolOf(error) ?? called
  const missing = detail(error, 'missing')
  // Held back: its reason says where to look, and nothing that is probed would bring it back.
  if (missing.length === 0) return undefined
  const step =
    missing.length > 0 && missing.every(isSwitchedOff)
      ? 'Switch on what is switched off, then call it again.'
      : `Fix what is missing, then: ${command('recheck', `tool:${tool}`, '--force')}`
  // The options count for the tool that is called, not for those it calls.
  const others = 'Or have it run later: add --when-disabled wait\nOr run it anyway: add --even-if-disabled'
  return tool === called ? `${step}\n${others}` : step
}

function allow({ agent = 'AGENT', capability = 'CAPABILITY', tool }: Hints, error: AppError): string {
  const names = detail(error, 'operations').map(operation => operation.name)
  const grant = command('grant', agent, capability, '--consent', ...(names.length > 0 ? names : ['OPERATION']))
  // A person is asked about arguments they can see, and those of a nested call cannot be shown.
  const canBeAsked = (toolOf(error) ?? tool) === tool
  return canBeAsked ? `Run it at a terminal to be asked, or allow it for good: ${grant}` : `Allow it for good: ${grant}`
}

function lookAgain({ upstream, isReview }: Hints): string | undefined {
  return isReview && upstream !== undefined ? `See what waits: ${command('upstreams', 'review', upstream)}` : undefined
}

const KINDS = ['tool', 'dependency', 'capability']

/** Only what the message names exists. */
function sayWhich({ name = 'NAME' }: Hints, { message }: AppError): string {
  const addresses = KINDS.map(kind => `${kind}:${name}`)
  const named = addresses.filter(address => message.includes(`"${address}"`))
  const commands = (named.length > 0 ? named : addresses).map(address => command('recheck', address))
  return `Say which: ${commands.join(', or: ')}`
}

function command(...words: string[]): string {
  return ['quartermaster', ...words.map(shellWord)].join(' ')
}
