import { z } from 'zod'
import {
  type AppError,
  ConsentOperation,
  type ErrorBody,
  type ErrorCode,
  Issue,
  MissingDependency,
  Problem,
  TOOL_NAMES,
  TravellingResult,
} from '../../../contracts/index.ts'
import { upstreamOfDependency } from '../../../core/kernel/index.ts'
import type { Hints } from '../session.ts'
import { count, paragraph, unwrapped } from './layout.ts'
import { type Answered, isSwitchedOff, missingBlock, problemBlocks } from './problem-text.ts'
import { resultText, saidText, shownHead } from './result-text.ts'
import type { Frame } from './terminal.ts'
import { shellWord } from './terminal.ts'

/** An error for people: what happened, what they need to know about it, and the next step. */
export function errorText(error: AppError, hints: Hints, frame: Frame & Answered & { hasToken: boolean }): string {
  const { paint, width, from, hasToken } = frame
  const next = hasToken ? nextStepWithToken(error, hints, from) : NEXT_STEPS[error.code]?.(hints, error, from)
  const narrow = { width: width === undefined ? undefined : Math.max(20, width - 7) }
  return [
    `${paint.red('Error:')} ${paragraph(headline(error, frame), narrow, '       ').slice(7)}`,
    ...detailBlocks(error, frame),
    next === undefined ? '' : `${paint.bold('Next:')} ${unwrapped(next, '      ').slice(6)}`,
    paint.dim(`(${error.code})`),
    '\n',
  ].join('')
}

/** The message, without what the details below say with their places. */
function headline(error: AppError, { hasToken }: { hasToken: boolean }): string {
  const { code, message, details } = error
  // The owner's command that makes a token is of no use to another caller.
  if (code === 'TOKEN_INVALID' && hasToken) return message.replace(/ Make one: .*$/, '')
  const tool = toolOf(error)
  if (code === 'TOOL_DISABLED' && tool && details?.missing) return `"${tool}" is disabled.`
  if (code === 'CONSENT_REQUIRED' && tool && details?.operations) return `"${tool}" needs a person's consent.`
  const problems = detail(error, 'problems')
  if (problems.length === 0) return message
  const shown = problems.flatMap(problem => `${problem.message}\n${problem.fix ?? ''}`.split('\n')).filter(Boolean)
  const rest = message.split('\n').filter(line => !shown.some(text => line.includes(text)))
  return rest.join('\n').trim() || `${count(problems.length, 'problem')}:`
}

function detailBlocks(error: AppError, frame: Frame & Answered): string[] {
  return [
    ...detail(error, 'missing').map(missing => missingBlock(missing, frame, frame)),
    ...detail(error, 'issues')
      .filter(issue => !error.message.includes(issue.message))
      .map(issue => paragraph(`${issue.path.join('.') || 'input'}: ${issue.message}`, frame, '  ')),
    problemBlocks(detail(error, 'problems'), frame),
    ...detail(error, 'operations').map(({ name, weight, reason }) =>
      paragraph(`${name} (${weight}): ${reason}`, frame, '  '),
    ),
    ...saidBlock(error, frame),
  ]
}

function saidBlock(error: AppError, frame: Frame): string[] {
  const content = detail(error, 'content')
  if (content.length === 0) return []
  const { text, cutAt } = shownHead(resultText({ content }), { isTerminal: frame.width !== undefined })
  if (cutAt === undefined) return [saidText(text, frame)]
  const id = error.details?.operationId
  // A recorded call is not made again only to read its result.
  const all =
    typeof id === 'string' ? `quartermaster operations show ${id} --json` : 'the same with --json, or 2> into a file'
  return [saidText(text, frame), paragraph(`What it said is cut at ${cutAt}. To see all of it: ${all}.`, frame)]
}

/** What a person can do about an error, as lines to copy where there are any. */
type Step = (hints: Hints, error: AppError, from: Answered['from']) => string | undefined

const NEXT_STEPS: { readonly [K in ErrorCode]?: Step } = {
  TOOL_NOT_FOUND: findTool,
  TOOL_DISABLED: enableTool,
  INPUT_INVALID: ({ tool }) => (tool ? `See what it takes: ${command('tools', tool)}` : undefined),
  CONSENT_REQUIRED: allow,
  DEADLINE_EXCEEDED: (_, { details }) =>
    details?.runLimitMs === undefined
      ? 'Give it more time: add --timeout 2m'
      : 'That is its own limit. Give it more as "timeoutMs" where it is defined: for a tool of an MCP server in its entry of mcpServers.',
  DEPENDENCY_UNAVAILABLE: findWhatIsDown,
  DEPENDENCY_UNKNOWN: () => `See all dependencies: ${command('status')}`,
  OUTCOME_UNKNOWN: checkFirst,
  AGENT_NOT_FOUND: ({ agent = 'NAME', capability = 'CAPABILITY' }) =>
    `See all agents: ${command('agents')}, or make it: ${command('grant', agent, capability, '--create')}`,
  AGENT_INVALID: fixAgent,
  CAPABILITY_UNKNOWN: () => `See all capabilities: ${command('capabilities')}`,
  CONFIG_INVALID: () => `See everything that is wrong: ${command('doctor')}`,
  DEFINITION_INVALID: () => `See everything that is wrong: ${command('doctor')}`,
  NAME_UNKNOWN: listNames,
  NAME_AMBIGUOUS: (hints, error) => reviewAgain(hints) ?? sayWhich(hints, error),
  EDIT_CONFLICT: hints => reviewAgain(hints) ?? 'Run the command again.',
  STORE_LOCKED: (_, { details }) =>
    details?.url === undefined
      ? // A process that does not say where it listens is most often another command.
        `Run it again when the other one is done. An up serves any number of commands at once: ${command('up')}`
      : 'Another process owns the data folder. Stop it, or name another folder with --data.',
  INTERNAL: () => `Look for a cause: ${command('doctor')}`,
}

/**
 * The process that keeps an upstream knows its state, and shows a connection of one agent alone with it. Without such a process
 * only another attempt tells. A busy server (`retryAfterMs`) needs no fix.
 */
function findWhatIsDown(
  { tool }: Hints,
  { details: { upstream, agent, dependency, retryAfterMs, url } = {} }: AppError,
  from: Answered['from'],
): string | undefined {
  // The `up` itself is down, and the message says what to do.
  if (url !== undefined) return undefined
  const isKept = from === 'up'
  if (typeof upstream === 'string' && typeof agent === 'string')
    return isKept
      ? `See how it stands: ${command('upstreams', 'show', upstream)}`
      : 'Fix what is said here, then call it again.'
  const server = typeof dependency === 'string' ? upstreamOfDependency(dependency) : undefined
  if (server !== undefined && !isKept && retryAfterMs === undefined)
    return `Fix what is said here, then try it: ${command('upstreams', 'restart', server)}`
  const look = `See what is down: ${command('status')}`
  return tool === undefined ? look : `${look}, then: ${command('recheck', `tool:${tool}`)}`
}

function checkFirst(_: Hints, { details }: AppError): string {
  const first = 'It may have happened. Look at what it changes before you run it again'
  const id = details?.operationId
  return typeof id === 'string' ? `${first}: ${command('operations', 'show', id)}` : `${first}.`
}

function listNames(hints: Hints): string {
  if (hints.isApproval) return `See what waits for you: ${command('approvals')}`
  if (hints.operation !== undefined) return `See all operations: ${command('operations', 'list')}`
  if (hints.listing !== undefined) return `See all of them: ${command(...hints.listing)}`
  if (hints.upstream === undefined) return `See what there is: ${command('status')} and ${command('tools')}`
  return reviewAgain(hints) ?? `See all upstreams: ${command('upstreams')}`
}

function findTool(hints: Hints): string {
  const { agent, tool = '', grant, isAgentBroken, comesAlong } = hints
  if (comesAlong) return `It comes automatically with ${COMES_WITH[tool] ?? ''}"view": "gateway" in the agent's file.`
  if (agent === undefined) return `See what there is: ${command('tools')}`
  if (isAgentBroken) return fixAgent(hints)
  if (grant === undefined) return `See what it has: ${command('tools', '--agent', agent)}`
  const only = grant.tools === undefined ? [] : ['--tools', grant.tools.join(',')]
  return `Give it: ${command('grant', agent, grant.capability, ...only)}`
}

/** What a tool comes with, besides the gateway view. */
const COMES_WITH: Readonly<Record<string, string>> = {
  [TOOL_NAMES.docs]: "a page of the project's own in knowledge/, or with ",
  [TOOL_NAMES.status]: 'a tool whose calls may have to wait, or with ',
}

function fixAgent({ agent = 'NAME' }: Hints): string {
  return `See what is wrong with its file: ${command('agents', 'check', agent)}`
}

function enableTool({ tool: called = 'NAME' }: Hints, error: AppError): string | undefined {
  const tool = toolOf(error) ?? called
  const missing = detail(error, 'missing')
  // The tool is held back: its reason says where to look, and a recheck would not bring it back.
  if (missing.length === 0) return undefined
  // With its kind before the name, because a capability or a dependency often has the same name.
  const step = missing.every(isSwitchedOff)
    ? 'Switch on what is switched off, then call it again.'
    : `Fix what is missing, then: ${command('recheck', `tool:${tool}`, '--force')}`
  // The options apply to the tool that is called, not to those it calls.
  const others = 'Or have it run later: add --when-disabled wait\nOr run it anyway: add --even-if-disabled'
  return tool === called ? `${step}\n${others}` : step
}

function allow({ agent = 'AGENT', capability = 'CAPABILITY', tool }: Hints, error: AppError): string {
  const names = detail(error, 'operations').map(operation => operation.name)
  const grant = command('grant', agent, capability, '--consent', ...(names.length > 0 ? names : ['OPERATION']))
  // A person is asked about arguments they can see, and those of a nested call cannot be shown.
  const canBeAsked = (toolOf(error) ?? tool) === tool
  return canBeAsked
    ? `Run it at a terminal to be asked, or allow it permanently: ${grant}`
    : `Allow it permanently: ${grant}`
}

function reviewAgain({ upstream, isReview }: Hints): string | undefined {
  return isReview && upstream !== undefined ? `See what waits: ${command('upstreams', 'review', upstream)}` : undefined
}

/** Proposes the kinds that the message names. */
function sayWhich({ name = 'NAME' }: Hints, { message }: AppError): string {
  const addresses = ['tool', 'dependency', 'capability'].map(kind => `${kind}:${name}`)
  const named = addresses.filter(address => message.includes(`"${address}"`))
  const commands = (named.length > 0 ? named : addresses).map(address => command('recheck', address))
  return `Say which: ${commands.join(', or: ')}`
}

function command(...words: string[]): string {
  return ['quartermaster', ...words.map(shellWord)].join(' ')
}

/** The next step of a caller who is not the owner: only commands that they have. */
function nextStepWithToken(error: AppError, hints: Hints, from: Answered['from']): string | undefined {
  const { code } = error
  if (code === 'INPUT_INVALID' || code === 'NAME_UNKNOWN' || code === 'EDIT_CONFLICT')
    return NEXT_STEPS[code]?.(hints, error, from)
  // No server was reached at all.
  if (code === 'DEPENDENCY_UNAVAILABLE' && from === undefined)
    return 'If it listens elsewhere, put its address into QUARTERMASTER_URL.'
  return STEPS_WITH_TOKEN[code]
}

const STEPS_WITH_TOKEN: { readonly [K in ErrorCode]?: string } = {
  TOKEN_INVALID: 'Ask the owner for a valid token, and put it into QUARTERMASTER_TOKEN.',
  TOOL_NOT_FOUND: 'See what you have: quartermaster do',
  TOOL_DISABLED: 'It comes back automatically when what it needs is there.',
  CONSENT_REQUIRED: 'Ask the owner to allow it.',
  DEPENDENCY_UNAVAILABLE: 'Try it again later.',
  OUTCOME_UNKNOWN: 'It may have happened. Look at what it changes before you run it again.',
}

/** The details of an error that people need. All others are for programs. */
const Details = {
  missing: z.array(MissingDependency),
  issues: z.array(Issue),
  problems: z.array(Problem),
  operations: z.array(ConsentOperation),
  /** What a tool answered in a result that does not match its schema. */
  content: TravellingResult.shape.content,
}

type Details = { readonly [K in keyof typeof Details]: z.infer<(typeof Details)[K]> }

/** One list of an error's details; empty when it is absent or cannot be read. */
export function detail<K extends keyof Details>(error: Pick<ErrorBody, 'details'>, key: K): Details[K] {
  const parsed = Details[key].safeParse(error.details?.[key])
  return (parsed.success ? parsed.data : []) as Details[K]
}

/** The tool an error is about; in a nested call another than the one that was called. */
export function toolOf(error: AppError): string | undefined {
  return typeof error.details?.tool === 'string' ? error.details.tool : undefined
}
