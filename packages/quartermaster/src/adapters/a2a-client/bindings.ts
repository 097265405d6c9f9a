import { z } from 'zod'
import { HOPS_KEY } from '../../contracts/index.ts'
import type { RemoteMessage, RemotePlace } from '../../core/external-peers/index.ts'
import type { SaidError } from './failures.ts'
import { fromPart } from './wire.ts'

/** What can be asked for, by the name that JSON-RPC has for it. */
export type Operation = 'SendMessage' | 'SendStreamingMessage' | 'GetTask' | 'SubscribeToTask' | 'CancelTask'

/** A request as a binding writes it. */
export interface Written {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly body?: unknown
}

/** How requests are written and answers are read. */
export interface Binding {
  write(place: RemotePlace, operation: Operation, given: Given): Written
  /** What was answered; or the error that was said instead. */
  read(value: unknown): { readonly result: unknown } | { readonly error: SaidError }
  /** An error in an answer that is one by its status. */
  readError(value: unknown): SaidError | undefined
}

export type Given = { readonly message: RemoteMessage } | { readonly id: string }

const RpcError = z.object({ code: z.number().nullish(), message: z.string().nullish(), data: z.unknown().optional() })
const RpcAnswer = z.object({ result: z.unknown().optional(), error: RpcError.nullish() })

/** A2A 1.0 §9. */
const jsonRpc: Binding = {
  write: ({ url, tenant }, method, given) => ({
    method: 'POST',
    url: new URL(url),
    body: { jsonrpc: '2.0', id: 1, method, params: { ...(tenant !== null && { tenant }), ...parametersOf(given) } },
  }),
  read(value) {
    const answer = RpcAnswer.safeParse(value).data
    if (answer?.error) return { error: saidIn(answer.error) }
    return { result: answer?.result }
  },
  readError(value) {
    const { error } = RpcAnswer.safeParse(value).data ?? {}
    return error ? saidIn(error) : undefined
  },
}

const RestError = z.object({
  error: z.object({ code: z.number().nullish(), message: z.string().nullish(), details: z.unknown().optional() }),
})

/** A2A 1.0 §11. */
const rest: Binding = {
  write({ url, tenant }, operation, given) {
    const base = `${url.replace(/\/+$/, '')}${tenant === null ? '' : `/${encodeURIComponent(tenant)}`}`
    const { method, path } = PATHS[operation]
    const at = 'id' in given ? path.replace('{id}', encodeURIComponent(given.id)) : path
    const body = 'message' in given ? parametersOf(given) : method === 'POST' ? {} : undefined
    return { method, url: new URL(`${base}${at}`), ...(body && { body }) }
  },
  read: value => ({ result: value }),
  readError(value) {
    const { error } = RestError.safeParse(value).data ?? {}
    return error && { message: error.message ?? undefined, reason: reasonIn(error.details) }
  },
}

const PATHS = {
  SendMessage: { method: 'POST', path: '/message:send' },
  SendStreamingMessage: { method: 'POST', path: '/message:stream' },
  GetTask: { method: 'GET', path: '/tasks/{id}' },
  SubscribeToTask: { method: 'POST', path: '/tasks/{id}:subscribe' },
  CancelTask: { method: 'POST', path: '/tasks/{id}:cancel' },
} as const

export const BINDINGS: Readonly<Record<RemotePlace['binding'], Binding>> = { JSONRPC: jsonRpc, 'HTTP+JSON': rest }

function parametersOf(given: Given): object {
  if ('id' in given) return given
  const { messageId, taskId, contextId, parts, hops } = given.message
  return {
    message: {
      messageId,
      role: 'ROLE_USER',
      parts: parts.map(fromPart),
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && contextId !== '' && { contextId }),
      ...(hops !== undefined && { metadata: { [HOPS_KEY]: hops } }),
    },
    // A task may take days, and no connection lasts as long.
    configuration: { returnImmediately: true, acceptedOutputModes: [] },
  }
}

function saidIn({ code, message, data }: z.infer<typeof RpcError>): SaidError {
  return { code: code ?? undefined, message: message ?? undefined, reason: reasonIn(data) }
}

const ErrorInfo = z.object({ reason: z.string() })

/** By `google.rpc.ErrorInfo`, which is one of a list. */
function reasonIn(details: unknown): string | undefined {
  const list = Array.isArray(details) ? details : []
  return list.flatMap(one => ErrorInfo.safeParse(one).data?.reason ?? [])[0]
}
