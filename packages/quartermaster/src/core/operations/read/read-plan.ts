import {
  AppError,
  type AuditEntry,
  type Issue,
  issueText,
  type PromptResult,
  type Suggestions,
} from '../../../contracts/index.ts'
import type { AgentSession } from '../../agents/index.ts'
import type { Prompt, ReadingContext, Resource, Suggest } from '../../catalogue/index.ts'
import { type Clock, didYouMean, type Emitter, type FoundIssue, fewIssues } from '../../kernel/index.ts'
import type { CallRequest } from '../path/call-request.ts'
import type { OperationLog } from '../record/operation-log.ts'
import { type OutputPlace, type ReadResult, toPromptResult, toReadResult } from './read-output.ts'

/** What is to be read, before permission is checked. */
export interface ReadingPlan<T> {
  readonly request: ReadingRequest
  /** What was asked for, as the audit names it. */
  readonly asked: string
  /** What the audit's digest is made of. */
  readonly input: unknown
  /** Permission and arguments. Throws what is wrong with them; can be called again. */
  permit(): PermittedReading<T>
}

/** A reading that was let through. The configuration belongs to the definition's own generation. */
export interface PermittedReading<T> {
  /** `prompt:review`, `resource:docs://{page}`. */
  readonly address: string
  readonly item: Prompt | Resource
  readonly config: unknown
  run(context: ReadingContext): unknown
  /** Checks what running gave. */
  finish(output: unknown, place: OutputPlace): T
}

export function planPrompt(request: PromptRequest): ReadingPlan<PromptResult> {
  const { session, name, arguments: given = {} } = request
  return {
    request,
    asked: `prompt:${name}`,
    input: given,
    permit() {
      const { prompt, config } = findPrompt(session, name)
      const values = checkArguments(prompt, given)
      return {
        address: `prompt:${name}`,
        item: prompt,
        config,
        run: context => prompt.render(values, context),
        finish: (output, place) => toPromptResult(prompt, output, place),
      }
    },
  }
}

export function planResource(request: ResourceReadRequest): ReadingPlan<ReadResult> {
  const { session, uri } = request
  return {
    request,
    asked: `resource:${uri}`,
    input: { uri },
    permit() {
      const found = session.resource(uri)
      if (!found) throw noResource(session, uri)
      const { resource, config } = found.grant
      return {
        address: `resource:${resource.key}`,
        item: resource,
        config,
        run: context => resource.read({ uri, params: found.params }, context),
        finish: (output, place) => toReadResult(resource, { uri, output }, place),
      }
    },
  }
}

/** What helps to fill in an argument, if anything does. */
interface PermittedSuggestion {
  readonly address: string
  readonly item: Prompt | Resource
  readonly config: unknown
  readonly helper: Suggest | undefined
}

/** Finds the help for an argument. Throws when the caller has no such prompt or template, or it has no such argument. */
export function permitSuggestion({ session, ref, argument }: SuggestRequest): PermittedSuggestion {
  const found = 'prompt' in ref ? promptArguments(session, ref.prompt) : templateNames(session, ref.resource)
  const { names, address, item, config } = found
  if (!names.includes(argument.name)) {
    const message = `"${address}" has no argument "${argument.name}".${didYouMean(argument.name, names)}`
    throw new AppError('INPUT_INVALID', message)
  }
  return { address, item, config, helper: item.suggest.get(argument.name) }
}

function promptArguments(session: AgentSession, name: string) {
  const { prompt, config } = findPrompt(session, name)
  return { names: prompt.arguments.map(one => one.name), address: `prompt:${name}`, item: prompt, config }
}

function templateNames(session: AgentSession, uriTemplate: string) {
  const grant = session.resourceTemplate(uriTemplate)
  if (!grant) throw noResource(session, uriTemplate)
  const { resource, config } = grant
  return { names: resource.params, address: `resource:${resource.key}`, item: resource, config }
}

/** A prompt that is not granted does not exist for the caller, and the two are answered alike. */
function findPrompt(session: AgentSession, name: string) {
  const grant = session.prompt(name)
  if (grant) return grant
  const visible = session.view().prompts.map(({ prompt }) => prompt.name)
  throw new AppError(
    'PROMPT_NOT_FOUND',
    `"${session.caller.name}" has no prompt "${name}".${didYouMean(name, visible)}`,
  )
}

function noResource(session: AgentSession, uri: string): AppError {
  const visible = session.view().resources.map(({ resource }) => resource.key)
  const message = `"${session.caller.name}" has no resource at "${uri}".${didYouMean(uri, visible)}`
  return new AppError('RESOURCE_NOT_FOUND', message, { details: { uri } })
}

/** One reading on its way. What it has met so far is what the audit tells, however it ends. */
export interface ReadState<T> {
  readonly plan: ReadingPlan<T>
  readonly operationId: string
  readonly startedAt: number
  readonly digest: string
  reading: PermittedReading<T> | undefined
  hasRun: boolean
}

interface SettleReadingDeps {
  readonly operations: Pick<OperationLog, 'end'>
  readonly clock: Clock
  readonly emitter: Emitter
}

/** Tells the audit how a reading ended. It is a line among those of the calls, under the address of what was read. */
export function settleReading(
  readState: ReadState<unknown>,
  failure: AppError | undefined,
  { operations, clock, emitter }: SettleReadingDeps,
): void {
  const audit = auditOf(readState, failure, clock.now())
  const outcome = failure ? 'failed' : 'succeeded'
  // Nothing to wait for: what changes nothing has no record, and its audit is written in its own time.
  void operations.end({
    id: readState.operationId,
    state: failure?.code === 'CANCELLED' ? 'cancelled' : outcome,
    outcome: readState.hasRun ? outcome : undefined,
    result: undefined,
    error: failure?.toJSON(),
    audit,
  })
  emitter.emit('call.settled', audit)
}

function auditOf(readState: ReadState<unknown>, failure: AppError | undefined, now: number): AuditEntry {
  const { plan, operationId, startedAt, digest, reading, hasRun } = readState
  const entry: AuditEntry = {
    at: Math.round(now),
    operationId,
    caller: plan.request.session.caller,
    tool: reading?.address ?? plan.asked,
    digest,
    decision: hasRun ? 'allowed' : 'refused',
    outcome: failure ? (hasRun ? 'failed' : 'notRun') : 'succeeded',
    mutates: false,
    durationMs: now - startedAt,
  }
  return failure ? { ...entry, code: failure.code } : entry
}

/** Checks the arguments of a prompt completely and gives what its `render` gets. */
function checkArguments(prompt: Prompt, given: unknown): Readonly<Record<string, string>> {
  const values = new Map<string, unknown>(Object.entries(Object(given ?? {})))
  const names = prompt.arguments.map(({ name }) => name)
  const found = [
    ...prompt.arguments.filter(({ name, required }) => required && !values.has(name)).map(({ name }) => missing(name)),
    ...[...values].flatMap(([name, value]) => issueWith(name, value, names)),
  ]
  if (found.length === 0) return Object.fromEntries(values) as Record<string, string>
  const issues = fewIssues(found).map(issue => suggesting(issue, names))
  const lines = issues.map(issueText)
  throw new AppError('INPUT_INVALID', `The arguments of the prompt "${prompt.name}" are wrong. ${lines.join(' ')}`, {
    details: { issues },
  })
}

function missing(name: string): FoundIssue {
  return { path: [name], message: 'is missing (a string).' }
}

function issueWith(name: string, value: unknown, names: readonly string[]): FoundIssue[] {
  if (!names.includes(name)) return [{ path: [name], message: NO_ARGUMENT }]
  return typeof value === 'string' ? [] : [{ path: [name], message: 'must be a string.' }]
}

const NO_ARGUMENT = 'is not an argument.'

/** Looked for only where it will be read: it takes longer than all the rest. */
function suggesting({ path, message }: Issue, names: readonly string[]): Issue {
  return message === NO_ARGUMENT
    ? { path, message: `${message}${didYouMean(String(path[0]), names)}` }
    : { path, message }
}

/** Who wants to read, and whom to tell meanwhile. */
export interface ReadingRequest extends Pick<CallRequest, 'signal' | 'ask' | 'canAnswer' | 'client' | 'onLog'> {
  readonly session: AgentSession
}

/** One prompt to be filled in, as every adapter asks for it. */
export interface PromptRequest extends ReadingRequest {
  readonly name: string
  readonly arguments?: Readonly<Record<string, string>> | undefined
}

/** One address to be read, as every adapter asks for it. */
export interface ResourceReadRequest extends ReadingRequest {
  readonly uri: string
}

/** A word that is being typed, as every adapter asks what it may become. */
export interface SuggestRequest extends Pick<ReadingRequest, 'session' | 'signal' | 'client'> {
  /** What it is an argument of: a prompt, or the template of a resource. */
  readonly ref: { readonly prompt: string } | { readonly resource: string }
  readonly argument: { readonly name: string; readonly value: string }
  /** What the other arguments are so far. */
  readonly arguments?: Readonly<Record<string, string>> | undefined
}

/** The way to prompts and resources: one for every runtime, as the call path is for tools. */
export interface Readings {
  /** Fills in a prompt. Throws `AppError` when that was not possible, whosever fault it is. */
  renderPrompt(request: PromptRequest): Promise<PromptResult>
  /** Reads an address. Throws `AppError` when that was not possible, whosever fault it is. */
  readResource(request: ResourceReadRequest): Promise<ReadResult>
  /** What may stand for an argument; nothing where its definition does not help or cannot help now. */
  suggest(request: SuggestRequest): Promise<Suggestions>
  /** Takes nothing more, and ends what only waits; resolves when what runs has ended. */
  drain(): Promise<void>
  /** How many run now. */
  running(): number
  /** Ends what is under way with `STOPPING` and takes nothing more. */
  stop(): void
}
