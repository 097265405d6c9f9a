import { createControlClient } from '../../adapters/control-client/index.ts'
import { connectToOwner } from '../../adapters/data-folder/index.ts'
import type { RemoteToolbox } from '../../adapters/mcp-client/index.ts'
import { promptFor } from '../../adapters/prompt/index.ts'
import {
  type AgentControl,
  AppError,
  DOCS_META,
  DocsAnswer,
  type DocsQuestion,
  isAppError,
  type PersonControl,
  TOOL_NAMES,
  type ToolResult,
} from '../../contracts/index.ts'
import { filterTools } from '../../core/agents/index.ts'
import { usualDepth } from '../../core/knowledge/index.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'

export interface RemoteControlOptions extends ProjectPlace {
  /** The person's or agent's own. Nothing here falls back to the owner's. */
  readonly token: string
  /** Where an `up` listens; the one that owns the data folder when absent. */
  readonly url?: string | undefined
}

/** A person's part of the control of an `up`: only that knows the holders of tokens. */
export async function openPersonControl({ token, url, ...place }: RemoteControlOptions) {
  const control: PersonControl = createControlClient({
    token,
    url: url === undefined ? await ownUrl(place) : givenAddress(url),
  })
  return { control, from: 'up' as const, close: async () => {} }
}

async function ownUrl(place: ProjectPlace): Promise<string> {
  const own = await ownAddress(place)
  if (own !== undefined) return own
  const message = 'Only a running "up" knows whose token this is, and none runs here.'
  throw new AppError('DEPENDENCY_UNAVAILABLE', `${message} Start it, or say where it listens with --url.`)
}

/** A busy machine may keep an `up` from answering for a while. */
const PATIENCE_MS = 5_000

/** Where the `up` listens that owns the data folder, if one runs. */
async function ownAddress(place: ProjectPlace): Promise<string | undefined> {
  const { dataDir } = await locateProject(place)
  return (await connectToOwner({ dir: dataDir, timeoutMs: PATIENCE_MS }))?.url
}

/** The origin of a given address. Refuses an address where the token could be read in transit. */
export function givenAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url?.protocol === 'http:'
  if (!url || !(isPlain || url.protocol === 'https:') || url.username !== '' || url.password !== '')
    throw new AppError(
      'CONFIG_INVALID',
      'The address of an "up" looks like https://tools.example:7420, and has no more in it.',
    )
  if (!isPlain || LOOPBACK.test(url.hostname)) return url.origin
  const message = `Over "http" others on the network path to "${url.host}" could read the token.`
  throw new AppError('CONFIG_INVALID', `${message} Use an address with "https", or a tunnel to this machine.`)
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** The default address of an `up`. */
const DEFAULT_ADDRESS = 'http://127.0.0.1:7420'

/** An agent's control over its own MCP endpoint: it gives no more than MCP does. */
export async function openAgentControl({ token, url, ...place }: RemoteControlOptions) {
  const address = url === undefined ? await nearAddress(place) : givenAddress(url)
  // A person's control does without the MCP client.
  const { connectToolbox } = await import('../../adapters/mcp-client/index.ts')
  const toolbox = await connectToolbox({ url: new URL('/mcp', address), token })
  return { control: await controlOver(toolbox), from: 'up' as const, close: () => toolbox.close() }
}

/** An agent may have no access to its working folder, or be in no project. A named project has to exist. */
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
  return own ?? DEFAULT_ADDRESS
}

async function controlOver(toolbox: RemoteToolbox): Promise<AgentControl> {
  const { toCallAnswer } = await import('../../adapters/mcp-client/index.ts')
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
    // The tool decides how much is answered at once.
    async docs({ agent: _own, whole: _whole, ...question }, { signal } = {}) {
      const result = await toolbox.call(TOOL_NAMES.docs, question, { signal }).catch(withoutDocs)
      return toDocs(question, result, toCallAnswer(result).result.isError ?? false)
    },
  }
}

function withoutDocs(error: unknown): never {
  if (!isAppError(error) || error.code !== 'TOOL_NOT_FOUND') throw error
  throw new AppError('TOOL_NOT_FOUND', `This agent has no tool "${TOOL_NAMES.docs}", so it has no documentation.`)
}

/** The facts behind the text are in its metadata; a page is the first text block. */
function toDocs(question: DocsQuestion, result: ToolResult, isError: boolean): DocsAnswer {
  // The tool answers with an error where nothing fits; a call that could not run has thrown before.
  if (isError) return { depth: question.depth ?? usualDepth(question), entries: [] }
  const facts = DocsAnswer.safeParse(result._meta?.[DOCS_META])
  if (!facts.success)
    throw new AppError('REQUEST_REFUSED', 'The server answers docs in a format that this version does not know.')
  const [first] = result.content
  return facts.data.depth === 'full' && first?.type === 'text' ? { ...facts.data, text: first.text } : facts.data
}
