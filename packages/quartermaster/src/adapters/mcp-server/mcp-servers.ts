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
import { createStateSigner } from './mcp-request.ts'
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
  /** Seals the request state that clients carry about operations. */
  readonly seal: OperationSeal
  instructionsFor?(session: AgentSession): Promise<string>
  /** Delays the first lists of an agent until its upstreams had time to connect. */
  beforeList?(session: AgentSession): Promise<void> | undefined
  /** Called when a client has disconnected, with the name its calls carried; never rejects. */
  clientGone?(client: string): Promise<void>
  follow: Agents['follow']
  /** Repeats notifications of ended operations that no client received. */
  resendNotifications(): void
}

/** The MCP servers of this process: one per capability, one toolbox per host, one HTTP endpoint. */
export interface McpServers {
  inProcess(options: { key: string; session: AgentSession }): McpServerConfig
  /** An agent's tools for a host program in this process. */
  toolbox(session: AgentSession, options: ToolboxOptions): Toolbox
  /** Notifies the connected clients of the operation's caller; returns whether any of them received it. */
  notifyEnded(operation: OperationSummary, caller: Caller): boolean
  /** The callers with a client that can receive such notifications. */
  reachableCallers(): readonly Caller[]
  /** Rejects waiting questions: no more answers will arrive. */
  stop(): void
  overHttp(options: Pick<HttpFrontDeps, 'authenticate' | 'log' | 'limits'>): HttpFront
}

export function createMcpServers(deps: McpServersDeps): McpServers {
  const exchanges = createElicitations(deps)
  const tasks = createTasks({ ...deps, exchanges })
  const toolCalls = createToolCalls({ calls: deps.calls, exchanges, tasks })
  const watches = createWatches(deps)
  const operationNotifications = createOperationNotifications(deps.resendNotifications)
  let stopWaiting = () => {}
  const stopping = new Promise<void>(resolve => {
    stopWaiting = resolve
  })
  const beforeList = (session: AgentSession) => {
    const coming = deps.beforeList?.(session)
    return coming && Promise.race([coming, stopping])
  }
  const parts = {
    ...deps,
    beforeList,
    exchanges,
    tasks,
    toolCalls,
    watches,
    operationNotifications,
    stateSigner: createStateSigner(deps),
  }
  return {
    notifyEnded: operationNotifications.tell,
    reachableCallers: operationNotifications.reachableCallers,
    stop() {
      stopWaiting()
      exchanges.stop()
    },
    inProcess: options => inProcessServer(options, parts),
    toolbox: (session, options) => inProcessToolbox(session, options, deps),
    overHttp: options => createHttpFront({ ...parts, ...options }),
  }
}

/** Supported MCP revisions, newest first. The revisions with sessions are the SDK's. */
export const PROTOCOL_VERSIONS: readonly string[] = ['2026-07-28', ...SUPPORTED_PROTOCOL_VERSIONS]
