import type { CompleteResult, Prompt as McpPrompt, Server } from '@modelcontextprotocol/server'
import { AppError, type PromptResult } from '../../contracts/index.ts'
import type { Prompt } from '../../core/catalogue/index.ts'
import { callerKey, canonicalJson } from '../../core/kernel/index.ts'
import type { Readings } from '../../core/operations/index.ts'
import { orProtocolError, readingError, toProtocolError } from './errors.ts'
import { askWhileOpen } from './legacy-questions.ts'
import { clientOf, type McpRequest, requestOf } from './mcp-request.ts'
import { pageOf } from './page.ts'
import { ownerOf, type RoundWork, takeRound } from './rounds.ts'
import type { ServerParts } from './server-parts.ts'
import { findPrompt, promptsOn, type Shelf, versionsOf } from './shelf.ts'

/** Lists the prompts of a shelf, fills them in, and helps whoever types their arguments or those of a resource. */
export function servePrompts(server: Server, shelf: Shelf, parts: ServerParts): void {
  const { readings, exchanges, states } = parts
  server.setRequestHandler('prompts/list', async request => {
    if (request.params?.cursor === undefined) await parts.beforeList?.(shelf.seat)
    const page = () => pageOf(promptsOn(shelf), versionsOf(shelf).prompts, request.params?.cursor)
    const { items, nextCursor } = orProtocolError(page)
    const prompts = items.map(({ prompt }) => toMcpPrompt(prompt))
    return nextCursor === undefined ? { prompts } : { prompts, nextCursor }
  })
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    const request = requestOf(server, context, states)
    const fillIn = async (round: McpRequest) => {
      const end = await takeRound(exchanges, promptWork(shelf, params, readings), round)
      return 'answer' in end ? ({ ...end.answer } as never) : end.required
    }
    try {
      return await askWhileOpen(await fillIn(request), { context, request, again: fillIn }, parts)
    } catch (error) {
      throw readingError(error, request)
    }
  })
  server.setRequestHandler('completion/complete', ({ params }, context) =>
    suggest(shelf, params, { readings, request: requestOf(server, context, states) }),
  )
}

function promptWork(
  shelf: Shelf,
  { name, arguments: given }: { name: string; arguments?: Record<string, string> | undefined },
  readings: Readings,
): RoundWork<PromptResult> {
  const { seat } = shelf
  return {
    owner: () => ownerOf(callerKey(seat.caller), `prompt:${name}`, canonicalJson(given ?? {})),
    async begin({ signal, ask, canAnswer, onLog, client = shelf.client }) {
      if (!findPrompt(shelf, name)) throw new AppError('PROMPT_NOT_FOUND', `"${shelf.name}" has no prompt "${name}".`)
      return readings.renderPrompt({ seat, name, arguments: given, signal, ask, canAnswer, client, onLog })
    },
  }
}

interface CompleteParams {
  readonly ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }
  readonly argument: { name: string; value: string }
  readonly context?: { arguments?: Record<string, string> | undefined } | undefined
}

async function suggest(
  { seat, client: only }: Shelf,
  { ref, argument, context }: CompleteParams,
  { readings, request }: { readings: Readings; request: McpRequest },
): Promise<CompleteResult> {
  try {
    const wanted = ref.type === 'ref/prompt' ? { prompt: ref.name } : { resource: ref.uri }
    const asked = { ref: wanted, argument, arguments: context?.arguments }
    const completion = await readings.suggest({
      seat,
      ...asked,
      signal: request.signal,
      client: clientOf(request) ?? only,
    })
    return { completion }
  } catch (error) {
    throw toProtocolError(error)
  }
}

const rendered = new WeakMap<Prompt, McpPrompt>()

function toMcpPrompt(prompt: Prompt): McpPrompt {
  const known = rendered.get(prompt)
  if (known) return known
  const made: McpPrompt = {
    name: prompt.name,
    title: prompt.title,
    description: prompt.short,
    arguments: prompt.arguments.map(({ name, title, short, required }) => ({
      name,
      required,
      ...(title === undefined ? {} : { title }),
      ...(short === undefined ? {} : { description: short }),
    })),
    ...(prompt.icon === undefined ? {} : { icons: [{ src: prompt.icon }] }),
    ...(prompt.mcp as Partial<McpPrompt> | undefined),
  }
  rendered.set(prompt, made)
  return made
}
