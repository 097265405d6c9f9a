import { z } from 'zod'
import { AppError, type Settings, Suggestions } from '../../../contracts/index.ts'
import type { ReadingContext, SchemaCompiler } from '../../catalogue/index.ts'
import type { Health, Needing } from '../../health/index.ts'
import {
  type CancelSignal,
  type Clock,
  canonicalJson,
  type Digest,
  type Emitter,
  type Ids,
  type Log,
} from '../../kernel/index.ts'
import { askWhileWanted, canAnswer } from '../path/ask-client.ts'
import { toolLog } from '../path/call-context.ts'
import { becomesReady, isReady, missingLines } from '../path/check-call.ts'
import { createDeadline, type Deadline } from '../path/deadline.ts'
import { toReportableError } from '../path/failed-call.ts'
import type { OperationLog, OperationRecord } from '../record/operation-log.ts'
import { runDefinition } from './read-output.ts'
import {
  type PermittedReading,
  permitSuggestion,
  planPrompt,
  planResource,
  type ReadingPlan,
  type ReadingRequest,
  type Readings,
  type ReadState,
  type SuggestRequest,
  settleReading,
} from './read-plan.ts'

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

/** Builds the way to prompts and resources: permission, arguments, health, run, check, audit. */
export function createReadings(deps: ReadingsDeps): Readings {
  const { health, operations, clock, ids, digest, settings } = deps
  const timeoutMs = settings.callTimeoutSeconds * 1000
  const restartWaitMs = settings.restartWaitSeconds * 1000
  const underWay = new Set<Deadline>()
  /** Those of them whose definition runs. */
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
      settleReading(readState, failure, deps)
      throw failure
    }
    settleReading(readState, undefined, deps)
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
        // What was granted before is looked at once more, because waiting took time.
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

/** What filling in a prompt or reading a resource is told beside what was asked for. */
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

/** As many as a client may be given at once. MCP 2026-07-28, completion. */
const MOST = 100

export const NO_SUGGESTIONS: Suggestions = Object.freeze({ values: [], total: 0, hasMore: false })

/** Makes suggestions of whatever a helper gave. */
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
