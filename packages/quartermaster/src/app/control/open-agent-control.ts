import { connectToolbox, type RemoteToolbox, toCallAnswer } from '../../adapters/mcp-client/index.ts'
import { promptFor } from '../../adapters/prompt/index.ts'
import {
  type AgentControl,
  AppError,
  DOCS_META,
  DocsAnswer,
  type DocsQuestion,
  isAppError,
  TOLD_TOOLS,
  type ToolResult,
} from '../../contracts/index.ts'
import { filterTools } from '../../core/agents/index.ts'
import { usualDepth } from '../../core/knowledge/index.ts'
import type { ProjectPlace } from '../project/locate-project.ts'
import { givenAddress, ownAddress } from './open-person-control.ts'

export interface OpenAgentControlOptions extends ProjectPlace {
  /** The agent's own. Nothing here falls back to the owner's. */
  readonly token: string
  /** Where an `up` listens; the one that owns the data folder, or the usual place, when absent. */
  readonly url?: string | undefined
}

/** Where an `up` listens that was told nothing else. */
const USUAL = 'http://127.0.0.1:7420'

/** What an agent has of itself, through the door that all agents come by: it gives no more than MCP does. */
export async function openAgentControl({ token, url, ...place }: OpenAgentControlOptions) {
  const address = url === undefined ? await nearAddress(place) : givenAddress(url)
  const toolbox = await connectToolbox({ url: new URL('/mcp', address), token })
  return { control: controlOver(toolbox), from: 'up' as const, close: () => toolbox.close() }
}

/** An agent may have no access to the folder it stands in, or stand in none. What was named has to be there. */
async function nearAddress(place: ProjectPlace): Promise<string> {
  const isNamed = place.config !== undefined || place.data !== undefined
  const own = await ownAddress(place).catch(error => {
    if (isNamed) throw error
    return undefined
  })
  if (own === undefined && isNamed)
    throw new AppError(
      'DEPENDENCY_UNAVAILABLE',
      'No "up" runs there. Start it, or say where it listens in QUARTERMASTER_URL.',
    )
  return own ?? USUAL
}

function controlOver(toolbox: RemoteToolbox): AgentControl {
  return {
    tools: async ({ agent: _own, ...filter }) => filterTools(await toolbox.list(), filter),
    tool: ({ name }) => toolbox.detail(name),
    async call({ tool, input, idempotencyKey, whenDisabled }, { signal, onProgress } = {}) {
      return toCallAnswer(await toolbox.call(tool, input ?? {}, { signal, onProgress, idempotencyKey, whenDisabled }))
    },
    readResult: ({ resultId, offset }) => toolbox.page(resultId, offset),
    async prompt({ agent, ...options }) {
      const view = await toolbox.view()
      if (agent !== undefined && agent !== view.agent)
        throw new AppError('REQUEST_REFUSED', `The token is that of "${view.agent}", who reads no prompt but its own.`)
      return promptFor(view, options)
    },
    // How much comes at once is for the tool to say.
    async docs({ agent: _own, whole: _whole, ...question }, { signal } = {}) {
      return toDocs(question, await toolbox.call(TOLD_TOOLS.docs, question, { signal }).catch(withoutDocs))
    },
  }
}

function withoutDocs(error: unknown): never {
  if (!isAppError(error) || error.code !== 'TOOL_NOT_FOUND') throw error
  throw new AppError('TOOL_NOT_FOUND', `Nothing is written down here for you: you have no tool "${TOLD_TOOLS.docs}".`)
}

/** What the words were made from is beside them; a page is the first of the words. */
function toDocs(question: DocsQuestion, result: ToolResult): DocsAnswer {
  const { isError } = toCallAnswer(result).result
  // The tool says so where nothing fits; whatever could not be run was thrown above.
  if (isError) return { depth: question.depth ?? usualDepth(question), entries: [] }
  const facts = DocsAnswer.safeParse(result._meta?.[DOCS_META])
  if (!facts.success)
    throw new AppError('REQUEST_REFUSED', 'What answers there reads docs in a way that this version does not know.')
  const [first] = result.content
  return facts.data.depth === 'full' && first?.type === 'text' ? { ...facts.data, text: first.text } : facts.data
}
