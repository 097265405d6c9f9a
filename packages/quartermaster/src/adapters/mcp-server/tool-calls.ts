import { type InputRequiredResult, MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server'
import { AppError, type CallAnswer, isAppError, WHEN_DISABLED_META } from '../../contracts/index.ts'
import type { Grant } from '../../core/agents/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import { callerKey, canonicalJson } from '../../core/kernel/index.ts'
import {
  type CallRequest,
  type Calls,
  checkWhenDisabled,
  type Elicitation,
  type Elicitations,
} from '../../core/operations/index.ts'
import { type AgentTools, findTool, toolNotFound } from './agent-tools.ts'
import { missingCapability, toErrorResult, toProtocolError } from './errors.ts'
import { hasDisconnected, type McpRequest, validateIdempotencyKey } from './mcp-request.ts'
import { askClient, listenersOf, ownerHash, type RoundWork, startOrResume, toEarlyAnswers } from './multi-round.ts'
import { refuseUnfitHandle, showsOutput, toMcpResult } from './render.ts'
import { followsTasks, TASKS_REQUIRED, type TaskCandidate, type Tasks, type WireTask } from './tasks.ts'

interface ToolCallsDeps {
  readonly calls: Calls
  readonly exchanges: Elicitations
  readonly tasks: Tasks
}

/** What `tools/call` answers. */
export type ToolCallResult = ReturnType<typeof toMcpResult> | InputRequiredResult | WireTask

/** Executes `tools/call`: elicitation over several rounds, and tasks for slow calls. */
export interface ToolCalls {
  call(
    agentTools: AgentTools,
    params: { name: string; arguments?: unknown },
    request: McpRequest,
  ): Promise<ToolCallResult>
  /** Cancels the calls with this idempotency key. A disconnect does not cancel them, because a repeat fetches the result. */
  cancel(holder: string, key: string): void
}

export function createToolCalls(deps: ToolCallsDeps): ToolCalls {
  const { exchanges, tasks } = deps
  /** The grant with which a call started, for calls whose clients were asked something. */
  const grants = new WeakMap<Elicitation<unknown>, Grant>()
  /** Running calls with an idempotency key, by token and key. */
  const keyed = new Map<string, Set<Elicitation<unknown>>>()

  function trackByKey(one: Elicitation<unknown>, name: string): void {
    const same = keyed.get(name) ?? new Set()
    keyed.set(name, same.add(one))
    const forget = () => {
      same.delete(one)
      if (same.size === 0) keyed.delete(name)
    }
    one.done.then(forget, forget)
  }

  async function run({ agentTools, grant, input, request }: Pick<ToolCall, 'agentTools' | 'grant' | 'input'> & Asking) {
    let candidate: TaskCandidate | undefined
    let exchange: Elicitation<CallAnswer> | undefined
    try {
      const idempotencyKey = validateIdempotencyKey(request.idempotencyKey)
      const whenDisabled = checkWhenDisabled(request.meta[WHEN_DISABLED_META], agentTools.session)
      if (whenDisabled === 'wait') refuseUnfitHandle(grant.tool, request)
      const target = targetOf(deps.calls, { agentTools, grant, input })
      candidate = !request.state && wantsTask(target, request) ? tasks.candidate(agentTools.session.caller) : undefined
      if (isOnlyOnRecord(request, exchanges))
        return toMcpResult(
          await resumeFromRecord(deps.calls, { agentTools, grant, input, request }),
          grant.tool,
          request,
        )
      const work = workOf(deps.calls, {
        agentTools,
        grant,
        input,
        candidate,
        trace: request.trace,
        idempotencyKey,
        whenDisabled,
      })
      exchange = startOrResume(exchanges, work, request)
      if (idempotencyKey !== undefined && request.holder !== undefined)
        trackByKey(exchange, keyedName(request.holder, idempotencyKey))
      const turn = await tasks.turn(exchange, candidate, { signal: request.signal, audience: listenersOf(request) })
      if ('task' in turn) return turn.task
      if ('answer' in turn) return toMcpResult(turn.answer, grant.tool, request)
      grants.set(exchange, grant)
      return await askClient(exchanges, { exchange, questions: turn.questions, work, request })
    } catch (error) {
      candidate?.leave()
      // A tool name inside the arguments is the model's mistake, so the model has to see the error.
      if (isAppError(error) && error.code === 'TOOL_NOT_FOUND' && !findTool(agentTools, grant.tool.name))
        throw toProtocolError(error)
      return failed(error, { request, tool: grant.tool, operationId: exchange?.operationId() })
    }
  }

  /**
   * A running call continues under the grant it started with, even when its tool is withheld meanwhile. If the tool was revoked,
   * the call is cancelled: the client's answers are dropped, and it gets the call's result.
   */
  function continueCall(
    { agentTools, name, input, request }: NamedCall,
    why: AppError,
  ): Promise<ToolCallResult> | undefined {
    if (!request.state) return undefined
    const exchange = exchanges.of(request.state.exchangeId, callOwner(agentTools.session, name, input))
    const grant = exchange && grants.get(exchange)
    if (!exchange || !grant) return undefined
    if (why.code !== 'TOOL_NOT_FOUND') return run({ agentTools, grant, input, request })
    exchange.cancel(revoked(agentTools, name))
    return run({ agentTools, grant, input, request: { ...request, inputResponses: {} } })
  }

  /** An upstream that never connected is started for a call of what may be its tool. */
  async function connectAndCall({ agentTools, name, input, request }: NamedCall): Promise<ToolCallResult> {
    try {
      await deps.calls.ensureConnected({ session: agentTools.session, tool: name, signal: request.signal })
    } catch (error) {
      return toErrorResult(error, { isBare: true })
    }
    const grant = findTool(agentTools, name)
    if (grant) return run({ agentTools, grant, input, request })
    const why = toolNotFound(agentTools, name)
    return continueCall({ agentTools, name, input, request }, why) ?? refused(why)
  }

  return {
    call(agentTools, { name, arguments: input = {} }, request) {
      const grant = findTool(agentTools, name)
      return grant ? run({ agentTools, grant, input, request }) : connectAndCall({ agentTools, name, input, request })
    },
    cancel(holder, key) {
      for (const exchange of keyed.get(keyedName(holder, key)) ?? []) {
        exchange.leave()
        exchange.cancel(new AppError('CANCELLED', 'The client cancelled the call.'))
      }
    },
  }
}

const keyedName = (holder: string, key: string) => `${holder} ${key}`

interface Asking {
  readonly request: McpRequest
}

/** A call of a tool that is not offered any more, or not yet. */
interface NamedCall extends Asking {
  readonly agentTools: AgentTools
  readonly name: string
  readonly input: unknown
}

/** Cancels the call, so that an upstream does not wait for an answer that is dropped. */
function revoked({ session }: AgentTools, tool: string): AppError {
  return new AppError('CANCELLED', `"${tool}" was taken from "${session.caller.name}" while it waited for an answer.`)
}

/** Equal only for an equal call of the same caller. */
function callOwner({ caller }: AgentTools['session'], tool: string, input: unknown): string {
  return ownerHash(callerKey(caller), `tool:${tool}`, canonicalJson(input))
}

/** A missing tool is the client's mistake; a withheld tool is an answer for the model. */
function refused(error: AppError): ToolCallResult {
  if (error.code === 'TOOL_NOT_FOUND') throw toProtocolError(error)
  return toErrorResult(error, { isBare: true })
}

interface ToolCall extends Pick<CallRequest, 'input' | 'trace' | 'idempotencyKey' | 'whenDisabled'> {
  readonly agentTools: AgentTools
  readonly grant: Grant
  readonly candidate: TaskCandidate | undefined
}

function workOf(calls: Calls, call: ToolCall): RoundWork<CallAnswer> {
  const { agentTools, grant, input, candidate, trace, idempotencyKey, whenDisabled } = call
  const { session } = agentTools
  const tool = grant.tool.name
  // A host that can answer is asked directly; otherwise the client is asked.
  const isHosted = session.callbacks?.ask !== undefined
  return {
    owner: () => callOwner(session, tool, input),
    // Explicit properties: spreading is slow to build and to read, and this is read along the whole call.
    begin: ({ ask, canAnswer, client = agentTools.client, signal, isDelivered, onRecorded, onProgress, onLog }) =>
      calls.call({
        session,
        tool,
        input,
        trace,
        client,
        idempotencyKey,
        whenDisabled,
        signal,
        isDelivered,
        onProgress,
        onLog,
        ask: isHosted ? undefined : ask,
        canAnswer: isHosted ? undefined : canAnswer,
        asTask: candidate?.request.asTask,
        onRecorded: candidate ? both(onRecorded, candidate.request.onRecorded) : onRecorded,
      }),
  }
}

/** Whether the process that asked is gone, so that only the record of the call is left. */
function isOnlyOnRecord({ state }: McpRequest, exchanges: Pick<Elicitations, 'has'>): boolean {
  return state?.operationId !== undefined && !exchanges.has(state.exchangeId)
}

function resumeFromRecord(
  calls: Calls,
  {
    agentTools: { session },
    grant,
    input,
    request,
  }: Pick<ToolCall, 'agentTools' | 'grant' | 'input'> & { request: McpRequest },
): Promise<CallAnswer> {
  const { operationId = '', consent } = request.state ?? {}
  const answer = consent && toEarlyAnswers(request.inputResponses)[consent.key]
  const answered = consent && answer ? { answer, askedAt: consent.askedAt } : undefined
  return calls.resumeFromRecord({
    session,
    tool: grant.tool.name,
    input,
    operationId,
    answered,
    isDelivered: () => !hasDisconnected(request),
  })
}

function both<A>(first: (value: A) => void, second: (value: A) => void): (value: A) => void {
  return value => {
    first(value)
    second(value)
  }
}

/** The tool a forwarding call will really run. An invalid target is left to the call path, which rejects and records it. */
function targetOf(
  calls: Calls,
  { agentTools: { session }, grant, input }: Pick<ToolCall, 'agentTools' | 'grant' | 'input'>,
): Grant {
  if (!grant.tool.forward) return grant
  try {
    return calls.target({ session, tool: grant.tool.name, input })
  } catch {
    return grant
  }
}

/** A client may ask for a task, or the tool declares itself slow. A task-only tool is refused to clients without tasks. */
function wantsTask({ tool }: Grant, request: McpRequest): boolean {
  if (followsTasks(request)) return tool.asTask !== 'never' || request.meta['quartermaster/asTask'] === true
  // Legacy clients have no tasks; waiting is better than not having the tool.
  if (tool.asTask === 'always' && request.isModern) throw new MissingRequiredClientCapabilityError(TASKS_REQUIRED)
  return false
}

interface FailedCall {
  readonly request: McpRequest
  readonly tool: Tool
  readonly operationId: string | undefined
}

/** Our errors are results for the model; errors of the request are for the client. */
function failed(error: unknown, { request, tool, operationId }: FailedCall): ToolCallResult {
  const missing = missingCapability(error, request)
  if (missing) throw missing
  const result = toErrorResult(error, { isBare: showsOutput(tool, request) })
  if (operationId === undefined) return result
  return { ...result, _meta: { ...result._meta, 'quartermaster/operationId': operationId } }
}
