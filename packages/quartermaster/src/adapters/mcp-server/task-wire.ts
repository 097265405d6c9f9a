import { type ClientCapabilities, type InputRequest, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { OperationFacts } from '../../contracts/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import { waitingText } from '../../core/operations/index.ts'
import type { McpRequest } from './mcp-request.ts'
import { toMcpOutcome } from './render.ts'

const EXTENSION = 'io.modelcontextprotocol/tasks'

/** What a server says that can hand out tasks. */
export const TASKS_CAPABILITY = { [EXTENSION]: {} }
/** What a client has to say before it is given one. */
export const TASKS_REQUIRED: { requiredCapabilities: ClientCapabilities } = {
  requiredCapabilities: { extensions: { [EXTENSION]: {} } },
}

/** Whether the client of this request can follow a task. */
export function followsTasks({ isModern, client }: McpRequest): boolean {
  return isModern && client.extensions?.[EXTENSION] !== undefined
}

/** A task on the wire: an operation, by its id. */
export interface WireTask {
  resultType: 'task' | 'complete'
  taskId: string
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  ttlMs: number
  pollIntervalMs: number
  inputRequests?: Record<string, InputRequest>
  result?: object
  error?: { code: number; message: string; data?: unknown }
}

/** How often a client should look: often enough for a person, seldom enough for a machine. */
const POLL_MS = 1_000

/** What all states of a task share. */
export function taskEnvelope(task: { taskId: string; createdAt: number; updatedAt: number; ttlMs: number }) {
  return {
    resultType: 'complete' as const,
    taskId: task.taskId,
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.updatedAt).toISOString(),
    ttlMs: task.ttlMs,
    pollIntervalMs: POLL_MS,
  }
}

/** The tool that has this name now. */
export type ToolNow = (name: string) => Tool | undefined

/** A task that no client's call stands for any more, as the store tells it: over, waiting, or run again. */
export function toStoredTask(facts: OperationFacts, toolNow: ToolNow): WireTask {
  const { id, createdAt, updatedAt, ttlMs = 0 } = facts
  return { ...taskEnvelope({ taskId: id, createdAt, updatedAt, ttlMs }), ...standingOf(facts, toolNow) }
}

function standingOf(facts: OperationFacts, toolNow: ToolNow): Pick<WireTask, 'status'> & Partial<WireTask> {
  // Whatever became of it so far: a client stops looking at what has failed, and would never hear of its end.
  if (facts.endedAt === undefined) return { status: 'working', statusMessage: facts.progress ?? waitingText(facts) }
  return outcomeOf(facts, toolNow)
}

function outcomeOf(
  { state, result, error, ...facts }: OperationFacts,
  toolNow: ToolNow,
): Pick<WireTask, 'status'> & Partial<WireTask> {
  if (result) return { status: 'completed', result: toMcpOutcome(result, facts, toolNow(facts.tool)) }
  const message = error?.message ?? 'It ended without a result.'
  // A tool that may change something and was cut short may have done its work; whoever cancelled should know.
  const isCancelled = state === 'cancelled' || error?.details?.because === 'CANCELLED'
  if (isCancelled) return { status: 'cancelled', statusMessage: message }
  return {
    status: 'failed',
    statusMessage: message,
    error: { code: ProtocolErrorCode.InternalError, message, data: error },
  }
}
