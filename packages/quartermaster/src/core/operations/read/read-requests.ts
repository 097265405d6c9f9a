import { z } from 'zod'
import {
  AppError,
  type AuditEntry,
  type Issue,
  issueText,
  type PromptResult,
  type Settings,
  Suggestions,
} from '../../../contracts/index.ts'
import { type AgentSession } from '../../agents/index.ts'
import {
  type Prompt,
  type ReadingContext,
  type Resource,
  type SchemaCompiler,
  type Suggest,
} from '../../catalogue/index.ts'
import { type Health, type Needing } from '../../health/index.ts'
import {
  type CancelSignal,
  type Clock,
  canonicalJson,
  type Digest,
  didYouMean,
  type Emitter,
  type FoundIssue,
  firstIssues,
  type Ids,
  type Log,
} from '../../kernel/index.ts'
import { askWhileWanted, canAnswer, toolLog } from '../path/call-context.ts'
import { type CallRequest } from '../path/call-state.ts'
import { becomesReady, isReady, missingLines } from '../path/check-call.ts'
import { createDeadline, type Deadline } from '../path/deadline.ts'
import { toReportableError } from '../path/finish.ts'
import { type OperationLog, type OperationRecord } from '../record/operation-log.ts'
import { type OutputSource, type ReadResult, runDefinition, toPromptResult, toReadResult } from './read-output.ts'

export interface ReadingsDeps {
  readonly health: Pick<Health, 'availability' | 'missing' | 'recheckFor' | 'settled' | 'reportFailure'>
  readonly operations: Pick<OperationLog, 'begin' | 'end'>
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly emitter: Emitter
  readonly log: Log
  readonly compiler: SchemaCompiler
  readonly settings: Pick<Settings, 'callTimeoutSeconds' | 'restartWaitSeconds' | 'maxResultBytes' | 'maxBinaryBytes'>
}

/** Handles requests for prompts and resources: permission, arguments, health, run, validation, audit. */
export function createReadings(deps: ReadingsDeps): Readings {
  const { health, operations, clock, ids, digest, settings } = deps
  const timeoutMs = settings.callTimeoutSeconds * 1000
  const restartWaitMs = settings.restartWaitSeconds * 1000
  const underWay = new Set<Deadline>()
  const running = new Set<Deadline>()
  let isStopping = false
  let onDrained = () => {}

  async function callAndFinish<T>(plan: ReadingPlan<T>): Promise<T> {
    const readState = begin(plan)
    let answer: T
    try {
      answer = await runSteps(readState)
    } catch (error) {
      const failure = toReportableError(error)
      finishReading(readState, failure, deps)
      throw failure
    }
    finishReading(readState, undefined, deps)
    return answer
  }

  function begin<T>(plan: ReadingPlan<T>): ReadState<T> {
    const operationId = ids.next('op')
    const digested = digest(canonicalJson(plan.input))
    return { plan, operationId, startedAt: clock.now(), digest: digested, reading: undefined, hasRun: false }
  }

  async function runSteps<T>(readState: ReadState<T>): Promise<T> {
    const { plan } = readState
    const reading = plan.permit()
    readState.reading = reading
    return within(plan.request.signal, reading.address, async deadline => {
      if (!isReady(reading.item, health)) {
        await awaitDependencies(reading, deadline)
        // The wait took time, so the permission is checked again.
        plan.permit()
      }
      void operations.begin(recordOf(readState, reading))
      return run(readState, reading, deadline)
    })
  }

  async function within<T>(
    parent: CancelSignal | undefined,
    address: string,
    work: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    if (isStopping) throw stopping()
    const what = `Reading "${address}"`
    const deadline = createDeadline({ clock, ms: Number.POSITIVE_INFINITY, parent, what })
    underWay.add(deadline)
    try {
      return await work(deadline)
    } finally {
      underWay.delete(deadline)
      running.delete(deadline)
      deadline.release()
      if (running.size === 0) onDrained()
    }
  }

  async function awaitDependencies(reading: PermittedReading<unknown>, deadline: Deadline): Promise<void> {
    const ready = becomesReady(reading.item, deadline.signal(), { health, restartWaitMs })
    if (!(await deadline.race(ready))) throw unavailable(reading.address, reading.item, health)
  }

  async function run<T>(
    readState: ReadState<T>,
    { address, item, config, ...reading }: PermittedReading<T>,
    deadline: Deadline,
  ): Promise<T> {
    const late = deadline.reason()
    if (late) throw late
    deadline.limitRun(timeoutMs, `"${address}"`)
    running.add(deadline)
    readState.hasRun = true
    const { request } = readState.plan
    const { operationId } = readState
    const context = createReadingContext({ ...deps, request, address, operationId, config, deadline })
    const output = await runDefinition({ address, item, deadline }, deps, () => reading.run(context))
    return reading.finish(output, {
      what: `"${address}"`,
      maxBytes: settings.maxResultBytes,
      maxBinaryBytes: settings.maxBinaryBytes,
    })
  }

  /** Typing is not delayed: a source that cannot help now suggests nothing. */
  async function suggest(request: SuggestRequest): Promise<Suggestions> {
    const { address, item, config, helper } = permitSuggestion(request)
    if (!helper || !isReady(item, health)) return NO_SUGGESTIONS
    const { session, argument, arguments: others = {}, client = ids.next('op') } = request
    return within(request.signal, address, async deadline => {
      deadline.limitRun(timeoutMs, `"${address}"`)
      running.add(deadline)
      const context = { caller: session.caller, client, config, signal: deadline.signal(), arguments: others }
      const output = await runDefinition({ address, item, deadline }, deps, () => helper(argument.value, context))
      return toSuggestions(output, address)
    })
  }

  return {
    renderPrompt: request => callAndFinish(planPrompt(request)),
    readResource: request => callAndFinish(planResource(request)),
    suggest,
    drain() {
      isStopping = true
      for (const deadline of underWay) if (!running.has(deadline)) deadline.cancel(stopping())
      return new Promise(resolve => {
        onDrained = resolve
        if (running.size === 0) resolve()
      })
    },
    running: () => running.size,
    stop() {
      isStopping = true
      for (const deadline of underWay) deadline.cancel(stopping())
    },
  }
}

function stopping(): AppError {
  return new AppError('STOPPING', 'Quartermaster is stopping.')
}

function recordOf<T>(readState: ReadState<T>, { address, item }: PermittedReading<T>): OperationRecord {
  const { plan, operationId, digest, startedAt } = readState
  return {
    id: operationId,
    caller: plan.request.session.caller,
    tool: address,
    definitionHash: item.hash,
    mutates: false,
    digest,
    input: plan.input,
    startedAt,
    parentId: undefined,
    retry: 'manual',
    needsConsent: false,
    ttlMs: undefined,
    idempotencyKey: undefined,
  }
}

function unavailable(address: string, item: Needing, health: Pick<Health, 'missing'>): AppError {
  const missing = health.missing(item, { withRecovering: true })
  const message = `"${address}" cannot be read now. ${missingLines(missing)}`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { missing } })
}

interface ReadingContextParts {
  readonly request: ReadingRequest
  /** `prompt:review`: who asks and writes. */
  readonly address: string
  readonly operationId: string
  readonly config: unknown
  readonly deadline: Deadline
  readonly log: Log
  readonly compiler: SchemaCompiler
}

/** The context that a prompt or resource gets beside its arguments. */
function createReadingContext(parts: ReadingContextParts): ReadingContext {
  const { request, address, operationId, config, deadline, log, compiler } = parts
  return {
    caller: request.session.caller,
    client: request.client ?? operationId,
    config,
    get signal() {
      return deadline.signal()
    },
    get deadline() {
      return deadline.at()
    },
    ask: (question, options) => askWhileWanted(question, { request, subject: address, deadline, compiler }, options),
    canAnswer: kind => canAnswer(request, kind),
    get log() {
      return toolLog(log, { reading: address, operationId }, request.onLog)
    },
  }
}

/** The most suggestions in one response. MCP 2026-07-28, completion. */
const MOST = 100

export const NO_SUGGESTIONS: Suggestions = Object.freeze({ values: [], total: 0, hasMore: false })

/** Turns the output of a suggest function into suggestions. */
export function toSuggestions(output: unknown, address: string): Suggestions {
  const list = z.array(z.string()).safeParse(output)
  if (list.success) return cut({ values: list.data, total: list.data.length, hasMore: false })
  const some = Suggestions.safeParse(output)
  if (some.success) return cut(some.data)
  throw new AppError('OUTPUT_INVALID', `What "${address}" suggests is not a list of texts.`)
}

function cut(all: Suggestions): Suggestions {
  return all.values.length > MOST ? { ...all, values: all.values.slice(0, MOST), hasMore: true } : all
}

/** A request before its permission is checked. */
interface ReadingPlan<T> {
  readonly request: ReadingRequest
  /** The requested address, as the audit names it. */
  readonly asked: string
  /** The input of the audit's digest. */
  readonly input: unknown
  /** Checks permission and arguments; can be called again. */
  permit(): PermittedReading<T>
}

/** A permitted request. The configuration belongs to the definition's own generation. */
interface PermittedReading<T> {
  /** `prompt:review`, `resource:docs://{page}`. */
  readonly address: string
  readonly item: Prompt | Resource
  readonly config: unknown
  run(context: ReadingContext): unknown
  /** Validates the output. */
  finish(output: unknown, place: OutputSource): T
}

function planPrompt(request: PromptRequest): ReadingPlan<PromptResult> {
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

function planResource(request: ResourceReadRequest): ReadingPlan<ReadResult> {
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

interface PermittedSuggestion {
  readonly address: string
  readonly item: Prompt | Resource
  readonly config: unknown
  readonly helper: Suggest | undefined
}

/** Finds the suggest function of an argument. Throws when the caller has no such prompt or template, or it no such argument. */
function permitSuggestion({ session, ref, argument }: SuggestRequest): PermittedSuggestion {
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

/** A prompt that is not granted does not exist for the caller: both give the same error. */
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

/** The state of one request, from which its audit entry is made. */
interface ReadState<T> {
  readonly plan: ReadingPlan<T>
  readonly operationId: string
  readonly startedAt: number
  readonly digest: string
  reading: PermittedReading<T> | undefined
  hasRun: boolean
}

/** Writes the audit entry, as that of a call, under the address of the prompt or resource. */
function finishReading(
  readState: ReadState<unknown>,
  failure: AppError | undefined,
  { operations, clock, emitter }: Pick<ReadingsDeps, 'operations' | 'clock' | 'emitter'>,
): void {
  const audit = auditOf(readState, failure, clock.now())
  const outcome = failure ? 'failed' : 'succeeded'
  // Not awaited: a read has no record, and its audit is written in batches.
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

/** Validates the arguments of a prompt, with all problems in one error. */
function checkArguments(prompt: Prompt, given: unknown): Readonly<Record<string, string>> {
  const values = new Map<string, unknown>(Object.entries(Object(given ?? {})))
  const names = prompt.arguments.map(({ name }) => name)
  const found = [
    ...prompt.arguments.filter(({ name, required }) => required && !values.has(name)).map(({ name }) => missing(name)),
    ...[...values].flatMap(([name, value]) => issueWith(name, value, names)),
  ]
  if (found.length === 0) return Object.fromEntries(values) as Record<string, string>
  const issues = firstIssues(found).map(issue => suggesting(issue, names))
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

/** Only for the issues that are reported: finding a suggestion takes longer than all the rest. */
function suggesting({ path, message }: Issue, names: readonly string[]): Issue {
  return message === NO_ARGUMENT
    ? { path, message: `${message}${didYouMean(String(path[0]), names)}` }
    : { path, message }
}

/** The session, and the callbacks of its client. */
export interface ReadingRequest extends Pick<CallRequest, 'signal' | 'ask' | 'canAnswer' | 'client' | 'onLog'> {
  readonly session: AgentSession
}

/** A prompt to render. */
export interface PromptRequest extends ReadingRequest {
  readonly name: string
  readonly arguments?: Readonly<Record<string, string>> | undefined
}

/** A resource to read. */
export interface ResourceReadRequest extends ReadingRequest {
  readonly uri: string
}

/** An argument that is being typed, to complete. */
export interface SuggestRequest extends Pick<ReadingRequest, 'session' | 'signal' | 'client'> {
  /** The prompt or resource template that the argument belongs to. */
  readonly ref: { readonly prompt: string } | { readonly resource: string }
  readonly argument: { readonly name: string; readonly value: string }
  /** The other arguments so far. */
  readonly arguments?: Readonly<Record<string, string>> | undefined
}

/** Prompts and resources, the same for every runtime, as the call path is for tools. Throws `AppError`. */
export interface Readings {
  renderPrompt(request: PromptRequest): Promise<PromptResult>
  readResource(request: ResourceReadRequest): Promise<ReadResult>
  /** Suggested values; none where the definition has no suggestions or is not ready. */
  suggest(request: SuggestRequest): Promise<Suggestions>
  /** Refuses new requests and ends waiting ones; resolves when the running ones have ended. */
  drain(): Promise<void>
  /** The number of running requests. */
  running(): number
  /** Refuses new requests and ends all others with `STOPPING`. */
  stop(): void
}
