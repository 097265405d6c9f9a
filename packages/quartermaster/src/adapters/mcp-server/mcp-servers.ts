import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import type {
  Caller,
  McpServerConfig,
  OperationSummary,
  Settings,
  Toolbox,
  ToolboxOptions,
} from '../../contracts/index.ts'
import type { AgentSession, Agents } from '../../core/agents/index.ts'
import type { Clock, Ids, Log } from '../../core/kernel/index.ts'
import {
  type Calls,
  createElicitations,
  type KeptResults,
  type OperationAdmin,
  type OperationSeal,
  type Operations,
  type Readings,
} from '../../core/operations/index.ts'
import { createHttpFront, type HttpFront, type HttpFrontDeps } from './http-front.ts'
import { inProcessServer, inProcessToolbox } from './in-process.ts'
import { createStates } from './request-state.ts'
import { createOperationNotifications, createWatches } from './subscriptions.ts'
import { createTasks } from './tasks.ts'
import { createToolCalls } from './tool-calls.ts'

export interface McpServersDeps {
  readonly calls: Calls
  readonly results: KeptResults
  readonly readings: Readings
  readonly operations: Pick<Operations, 'show' | 'list'>
  readonly operationAdmin: Pick<OperationAdmin, 'cancel'>
  readonly settings: Pick<Settings, 'taskAfterMs' | 'taskTtlMinutes' | 'directCalls' | 'announceIntervalMs'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly version: string
  /** Signs what clients carry about operations. */
  readonly seal: OperationSeal
  /** What a client is told about its agent when it begins. */
  instructionsFor?(session: AgentSession): Promise<string>
  /** What the first lists of an agent wait for; `undefined` where there is nothing. */
  beforeList?(session: AgentSession): Promise<void> | undefined
  /** Told that a client has gone for good, by what its calls have named it; never fails. */
  clientGone?(client: string): Promise<void>
  follow: Agents['follow']
  /** Repeats notifications of ended operations that no client heard. */
  lookForEnds(): void
}

/** Everything that speaks MCP in front. */
export interface McpServers {
  /** The server of one capability, inside this process. */
  inProcess(options: { key: string; session: AgentSession }): McpServerConfig
  /** The tools of an agent, for a host program in this process. */
  toolbox(session: AgentSession, options: ToolboxOptions): Toolbox
  /** Tells the clients of its caller that an operation has ended, those that are there; answers whether any heard it. */
  tellEnd(operation: OperationSummary, caller: Caller): boolean
  /** The callers that have clients to tell it to. */
  endListeners(): readonly Caller[]
  /** Ends what waits for answers: none will come any more. */
  stop(): void
  /** The endpoint for clients elsewhere. */
  overHttp(options: Pick<HttpFrontDeps, 'authenticate' | 'log' | 'limits'>): HttpFront
}

export function createMcpServers(deps: McpServersDeps): McpServers {
  const exchanges = createElicitations(deps)
  const tasks = createTasks({ ...deps, exchanges })
  const toolCalls = createToolCalls({ calls: deps.calls, exchanges, tasks })
  const watches = createWatches(deps)
  const endNews = createOperationNotifications(deps.lookForEnds)
  let stopWaiting = () => {}
  const stopping = new Promise<void>(resolve => {
    stopWaiting = resolve
  })
  const beforeList = (session: AgentSession) => {
    const coming = deps.beforeList?.(session)
    return coming && Promise.race([coming, stopping])
  }
  const parts = { ...deps, beforeList, exchanges, tasks, toolCalls, watches, endNews, states: createStates(deps) }
  return {
    tellEnd: endNews.tell,
    endListeners: endNews.listening,
    stop() {
      stopWaiting()
      exchanges.stop()
    },
    inProcess: options => inProcessServer(options, parts),
    toolbox: (session, options) => inProcessToolbox(session, options, deps),
    overHttp: options => createHttpFront({ ...parts, ...options }),
  }
}

/** The revisions of MCP that are spoken here, the newest first. Those with sessions are what the SDK supports. */
export const PROTOCOL_VERSIONS: readonly string[] = ['2026-07-28', ...SUPPORTED_PROTOCOL_VERSIONS]
