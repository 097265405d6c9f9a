import { type MirroredParameter, mirroredParameters } from '../../core/kernel/index.ts'
import { isRecord, type Message, type Params, parameterHeaders, type Request } from '../mcp-wire/index.ts'

/** What lists of tools that passed by said, as far as it matters for passing on calls. */
export interface ToolFacts {
  /** Takes in a result of `tools/list`. */
  learn(result: unknown): void
  /** Takes in whatever the server says unasked: when its tools have changed, nothing that was learnt holds any more. */
  notice(message: Message): void
  /** The headers that this call's tool wants. */
  headersFor(params: Params | undefined): Record<string, string>
  /** Whether this request may be sent a second time when nobody knows what became of the first. */
  isRepeatable(request: Request): boolean
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

export function createToolFacts(): ToolFacts {
  const known = new Map<string, Facts>()
  const factsOf = (params: Params | undefined) =>
    typeof params?.name === 'string' ? known.get(params.name) : undefined
  return {
    learn(result) {
      const tools = isRecord(result) && Array.isArray(result.tools) ? result.tools : []
      for (const tool of tools) {
        if (!isRecord(tool) || typeof tool.name !== 'string') continue
        const isReadOnly = isRecord(tool.annotations) && tool.annotations.readOnlyHint === true
        known.set(tool.name, { parameters: mirroredParameters(tool.inputSchema), isReadOnly })
      }
    },
    notice(message) {
      // Sending a call twice whose tool has begun to change things would be worse than not knowing what became of it.
      if ('method' in message && message.method === 'notifications/tools/list_changed') known.clear()
    },
    headersFor: params => parameterHeaders(factsOf(params)?.parameters ?? [], params?.arguments),
    isRepeatable({ method, params }) {
      if (method !== 'tools/call') return REPEATABLE.has(method)
      // An answer to a question that the tool asked is given once.
      return factsOf(params)?.isReadOnly === true && params?.inputResponses === undefined
    },
  }
}
