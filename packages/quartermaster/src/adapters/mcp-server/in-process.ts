import type { Server } from '@modelcontextprotocol/server'
import {
  type AppError,
  closedToolbox,
  type McpServerConfig,
  type PersonQuestion,
  type Question,
  type QuestionKind,
  type Toolbox,
  type ToolboxOptions,
  type ToolboxTool,
  type ToolResult,
  toAppError,
  type UrlQuestion,
} from '../../contracts/index.ts'
import { type AgentSession, type Agents, agentViewOf } from '../../core/agents/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import { type Cancel, errorResult, type Ids, withoutErrorMark } from '../../core/kernel/index.ts'
import { type Calls, checkWhenDisabled } from '../../core/operations/index.ts'
import { type AgentTools, findTool, listTools, toolNotFound, versionsOf } from './agent-tools.ts'
import { validateIdempotencyKey } from './mcp-request.ts'
import { type Era, listedOutput, showsOutput, toMcpResult } from './render.ts'
import { buildServer } from './server.ts'
import type { ServerParts } from './server-parts.ts'
import { withAnnouncements } from './subscriptions.ts'

interface InProcessToolboxDeps {
  readonly calls: Calls
  readonly ids: Ids
  follow: Agents['follow']
}

/** The questions a host program can be asked: forms and pages for a person. */
const canAnswer = (kind: QuestionKind) => kind === 'person' || kind === 'url'

/** Host programs get results in the modern form. */
const MODERN: Era = { isModern: true }

/** An agent's tools for a host program in this process: the same as its MCP clients get, without messages in between. */
export function inProcessToolbox(session: AgentSession, { ask }: ToolboxOptions, deps: InProcessToolboxDeps): Toolbox {
  const agentTools: AgentTools = { name: session.caller.name, session, client: deps.ids.next('client') }
  const follows = new Set<Cancel>()
  let known: { version: string; tools: readonly ToolboxTool[] } | undefined
  let isClosed = false

  const askHost =
    ask && ((question: Question, signal: AbortSignal) => ask(question as PersonQuestion | UrlQuestion, signal))

  function refuseClosed(): void {
    if (isClosed) throw closedToolbox()
  }

  return {
    async tools() {
      refuseClosed()
      const { tools: version } = versionsOf(agentTools)
      if (known?.version !== version)
        known = { version, tools: listTools(agentTools).map(({ tool }) => toToolboxTool(tool)) }
      return known.tools
    },
    async view() {
      refuseClosed()
      return agentViewOf(session)
    },
    async call(name, input, { signal, onProgress, idempotencyKey, whenDisabled } = {}) {
      refuseClosed()
      try {
        if (!findTool(agentTools, name)) await deps.calls.ensureConnected({ session, tool: name, signal })
      } catch (error) {
        return failed(error, { signal, isBare: true })
      }
      refuseClosed()
      const grant = findTool(agentTools, name)
      if (!grant) return refused(toolNotFound(agentTools, name))
      try {
        const { client } = agentTools
        const key = validateIdempotencyKey(idempotencyKey)
        const request = {
          session,
          tool: name,
          input,
          signal,
          client,
          onProgress,
          idempotencyKey: key,
          whenDisabled: checkWhenDisabled(whenDisabled, session),
          canAnswer,
          ask: askHost,
        }
        return withoutErrorMark(toMcpResult(await deps.calls.call(request), grant.tool, MODERN) as ToolResult)
      } catch (error) {
        return failed(error, { signal, isBare: showsOutput(grant.tool, MODERN) })
      }
    },
    onChange(listener) {
      refuseClosed()
      const off = deps.follow(session, ({ tools }) => {
        if (tools) listener()
      })
      const cancel = () => {
        follows.delete(cancel)
        off()
      }
      follows.add(cancel)
      return cancel
    },
    async close() {
      isClosed = true
      for (const cancel of follows) cancel()
    },
  }
}

function refused(error: AppError): ToolResult {
  if (error.code === 'TOOL_NOT_FOUND') throw error
  return errorResult(error, { isBare: true })
}

interface FailedCall {
  readonly signal: AbortSignal | undefined
  readonly isBare: boolean
}

/** A caller that aborted the call gets a rejection, not a result. */
function failed(error: unknown, { signal, isBare }: FailedCall): ToolResult {
  if (signal?.aborted) throw toAppError(error)
  return errorResult(toAppError(error), { isBare })
}

const rendered = new WeakMap<Tool, ToolboxTool>()

function toToolboxTool(tool: Tool): ToolboxTool {
  const known = rendered.get(tool)
  if (known) return known
  const { name, title, short: description, inputSchema, mutates, idempotent } = tool
  const outputSchema = tool.outputSchema && listedOutput(tool)
  const made: ToolboxTool = { name, title, description, inputSchema, outputSchema, mutates, idempotent }
  rendered.set(tool, made)
  return made
}

interface InProcessServerDeps extends ServerParts {
  readonly ids: Ids
  follow: Agents['follow']
}

/** The MCP server of one capability. The instance is built on first access, so resolving an agent starts nothing. */
export function inProcessServer(
  { key, session }: { key: string; session: AgentSession },
  deps: InProcessServerDeps,
): McpServerConfig {
  let server: Server | undefined
  const client = deps.ids.next('client')
  const agentTools: AgentTools = { name: key, session, capability: key, client }
  return {
    type: 'sdk',
    name: key,
    get instance() {
      server ??= withDisconnect(withAnnouncements(buildServer(agentTools, deps), agentTools, deps), () =>
        deps.clientGone?.(client),
      )
      return server
    },
  }
}

/** Also calls back when the server's client has disconnected. */
function withDisconnect(server: Server, onGone: () => Promise<void> | undefined): Server {
  const { onclose } = server
  server.onclose = () => {
    onclose?.()
    void onGone()
  }
  return server
}
