import type { Client } from '@modelcontextprotocol/client'
import {
  AppError,
  type ErrorCode,
  IDEMPOTENCY_META,
  isAppError,
  type ToolboxCallOptions,
  type ToolDetail,
  type ToolResult,
  toAppError,
  WHEN_DISABLED_META,
} from '../../contracts/index.ts'
import { errorResult, inputObject, unmarked } from '../../core/kernel/index.ts'
import { type Errand, unanswered } from './toolbox-error.ts'

export interface RemoteCall extends ToolboxCallOptions {
  readonly name: string
  readonly input: unknown
}

export interface RemoteCallDeps {
  readonly client: Client
  /** Does it, and throws what went wrong on the way in our words. */
  reached<T>(work: () => Promise<T>, errand: Partial<Errand>): Promise<T>
  detail(name: string): Promise<ToolDetail>
}

/** Every tool has a limit of its own, and waiting for a person has one as well: here nothing is given up before that. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** What is thrown, here and in the process of the tool: it is no answer to the call. All else is one, and a model reads it. */
const NO_ANSWER: ReadonlySet<ErrorCode> = new Set([
  'CANCELLED',
  'DEPENDENCY_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'REQUEST_REFUSED',
  'STOPPING',
  'TOKEN_INVALID',
  'TOOL_NOT_FOUND',
])

/** Calls a tool elsewhere. What could not be run is a result, as in the process of the tool. */
export async function callRemote(call: RemoteCall, deps: RemoteCallDeps): Promise<ToolResult> {
  try {
    return await sent(call, deps)
  } catch (thrown) {
    const error = toAppError(thrown)
    if (NO_ANSWER.has(error.code)) throw error
    return errorResult(error, { isBare: await promises(call.name, deps) })
  }
}

async function sent(
  { name, input, signal, onProgress, idempotencyKey, whenDisabled }: RemoteCall,
  { client, reached }: RemoteCallDeps,
): Promise<ToolResult> {
  // The wire carries nothing but objects, so what is none is refused here.
  const given = inputObject(name, input)
  const _meta = {
    ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_META]: idempotencyKey }),
    ...(whenDisabled === undefined ? {} : { [WHEN_DISABLED_META]: whenDisabled }),
  }
  const options = {
    timeout: NO_LIMIT_MS,
    ...(signal ? { signal } : {}),
    ...(onProgress ? { onprogress: onProgress } : {}),
  }
  const work = () => client.callTool({ name, arguments: given, _meta }, options)
  const result = await reached(
    () =>
      work().catch(thrown => {
        throw unanswered(thrown, name) ?? notJson(name, given) ?? thrown
      }),
    { isCall: true, signal },
  )
  return unmarked(result as ToolResult)
}

/** What cannot be written down was never sent. Looked at only when something went wrong: what was sent can be. */
function notJson(tool: string, given: Readonly<Record<string, unknown>>): AppError | undefined {
  try {
    JSON.stringify(given)
    return undefined
  } catch (cause) {
    const message = 'must be JSON: without cycles and without numbers that JSON has not.'
    const details = { issues: [{ path: [], message }] }
    return new AppError('INPUT_INVALID', `The arguments of "${tool}" ${message}`, { details, cause })
  }
}

/** Whether the tool promises a structure, which an error must not stand in for. Asked for errors alone, so nobody waits for it. */
async function promises(name: string, { detail }: RemoteCallDeps): Promise<boolean> {
  try {
    return (await detail(name)).output !== undefined
  } catch (error) {
    // In the process of the tool that is found out first.
    if (isAppError(error) && error.code === 'TOOL_NOT_FOUND') throw error
    return true
  }
}
