import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from '../../contracts/index.ts'
import { type MirroredParameter, mirroredParameters } from '../../core/kernel/index.ts'
import { isRecord, type Message, metaOf, type Params, parameterHeaders, type Request } from '../mcp-wire/index.ts'

/** What seen `tools/list` results say about forwarding calls. It outlives a restart of `up`. */
export interface ToolFacts {
  learn(result: unknown): void
  /** Drops the facts when the server announces changed tools. */
  notice(message: Message): void
  /** The headers that mirror arguments of this call. */
  headersFor(params: Params | undefined): Record<string, string>
  /** How to send a request, decided once for all attempts. Lists the tools again if they have changed since. */
  termsOf(request: Request, list: ListTools): Promise<SendTerms>
  /** Lists the tools again, after the server rejected a call's headers. */
  relist(list: ListTools): Promise<void>
}

export type ListTools = (params: Params) => Promise<unknown>

export interface SendTerms {
  readonly headers: Readonly<Record<string, string>>
  /** Whether the request may be sent again when the outcome of the first attempt is unknown. */
  readonly isRepeatable: boolean
}

/** Requests that change nothing, or are idempotent. */
const REPEATABLE = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'skills/list',
  'skills/get',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/cancel',
])

interface Facts {
  readonly parameters: readonly MirroredParameter[]
  readonly isReadOnly: boolean
}

export function createToolFacts({ createKey }: { createKey(): string }): ToolFacts {
  const known = new Map<string, Facts>()
  let isStale = false
  const factsOf = (params: Params | undefined) =>
    typeof params?.name === 'string' ? known.get(params.name) : undefined

  function learn(result: unknown): void {
    const tools = isRecord(result) && Array.isArray(result.tools) ? result.tools : []
    for (const tool of tools) {
      if (!isRecord(tool) || typeof tool.name !== 'string') continue
      const isReadOnly = isRecord(tool.annotations) && tool.annotations.readOnlyHint === true
      known.set(tool.name, { parameters: mirroredParameters(tool.inputSchema), isReadOnly })
    }
  }

  async function relist(list: ListTools): Promise<void> {
    isStale = false
    let cursor: unknown
    do {
      // Without a list the call gets an idempotency key, which suits every tool.
      const result = await list(cursor === undefined ? {} : { cursor }).catch(() => undefined)
      learn(result)
      cursor = isRecord(result) ? result.nextCursor : undefined
    } while (cursor !== undefined)
  }

  return {
    learn,
    relist,
    notice(message) {
      // A tool that has become one that changes things must not be called twice without a key.
      if (!('method' in message) || message.method !== 'notifications/tools/list_changed') return
      known.clear()
      isStale = true
    },
    headersFor: params => parameterHeaders(factsOf(params)?.parameters ?? [], params?.arguments),
    async termsOf({ method, params }, list) {
      if (method !== 'tools/call') return { headers: {}, isRepeatable: REPEATABLE.has(method) }
      if (metaOf(params)[IDEMPOTENCY_META] !== undefined) return { headers: {}, isRepeatable: true }
      // It continues a call: the answer to a question can be given only once.
      if (params?.requestState !== undefined || params?.inputResponses !== undefined)
        return { headers: {}, isRepeatable: false }
      if (isStale && !factsOf(params)) await relist(list)
      if (factsOf(params)?.isReadOnly) return { headers: {}, isRepeatable: true }
      return { headers: { [IDEMPOTENCY_HEADER]: createKey() }, isRepeatable: true }
    },
  }
}
