import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from '../../contracts/index.ts'
import { type MirroredParameter, mirroredParameters } from '../../core/kernel/index.ts'
import { isRecord, type Message, metaOf, type Params, parameterHeaders, type Request } from '../mcp-wire/index.ts'

/** What lists of tools that passed by said, as far as it matters for passing on calls. It outlasts a restart of `up`. */
export interface ToolFacts {
  /** Takes in a result of `tools/list`. */
  learn(result: unknown): void
  /** Takes in what the server says unasked: when its tools have changed, what was learnt is not valid any more. */
  notice(message: Message): void
  /** The headers that this call's tool wants. */
  headersFor(params: Params | undefined): Record<string, string>
  /** How this request is sent, decided once for all its tries. Lists the tools when they have changed since they were listed. */
  termsOf(request: Request, list: ListTools): Promise<SendTerms>
  /** Lists the tools again: the server says that a call does not fit its listing. */
  relist(list: ListTools): Promise<void>
}

/** Asks for one page of `tools/list`; `undefined` when there was no answer. */
export type ListTools = (params: Params) => Promise<unknown>

export interface SendTerms {
  readonly headers: Readonly<Record<string, string>>
  /** Whether the request may be sent again when it is not known what became of the first try. */
  readonly isRepeatable: boolean
}

/** Requests that change nothing, or the same thing however often they are made. */
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
      // Without a list the call gets a key, which is right for every tool.
      const result = await list(cursor === undefined ? {} : { cursor }).catch(() => undefined)
      learn(result)
      cursor = isRecord(result) ? result.nextCursor : undefined
    } while (cursor !== undefined)
  }

  return {
    learn,
    relist,
    notice(message) {
      // A call of a tool that has begun to change things must not be sent twice without a key.
      if (!('method' in message) || message.method !== 'notifications/tools/list_changed') return
      known.clear()
      isStale = true
    },
    headersFor: params => parameterHeaders(factsOf(params)?.parameters ?? [], params?.arguments),
    async termsOf({ method, params }, list) {
      if (method !== 'tools/call') return { headers: {}, isRepeatable: REPEATABLE.has(method) }
      if (metaOf(params)[IDEMPOTENCY_META] !== undefined) return { headers: {}, isRepeatable: true }
      // It goes on with a call that was begun: an answer to a question of the tool is given once.
      if (params?.requestState !== undefined || params?.inputResponses !== undefined)
        return { headers: {}, isRepeatable: false }
      if (isStale && !factsOf(params)) await relist(list)
      if (factsOf(params)?.isReadOnly) return { headers: {}, isRepeatable: true }
      return { headers: { [IDEMPOTENCY_HEADER]: createKey() }, isRepeatable: true }
    },
  }
}
