import historyModule from '../capabilities/history/index.ts'
import inboxModule from '../capabilities/inbox/index.ts'
import { AppError, type WorkspaceRow } from '../contracts/index.ts'
import type { CallContext, Capability, Services } from '../core/catalogue/index.ts'
import { createHistoryService, createInboxService } from '../core/messages/index.ts'
import { type MessageFixtureOptions, openMessages } from './message-fixture.ts'
import { callTool, plainContext } from './tool-fixture.ts'

/** Which client of an agent calls, and what ends the call. */
export interface Calling {
  readonly client?: string
  readonly signal?: AbortSignal
  progress?: CallContext['progress']
}

/** Workspaces whose agents have the tools of `inbox` and `history`. */
export async function openInboxes(options: MessageFixtureOptions = {}) {
  const at = await openMessages(options)
  const inbox = async () => createInboxService(at.messages, at.organisation)
  const history = async () => createHistoryService(at.messages, at.organisation)
  // Of the rest only that it is there is looked at.
  const services = { inbox, history, paths: { projectDir: '/', dataDir: '/' } } as Services
  const capabilities = [inboxModule, historyModule].map(({ create }) => create(services) as Capability)
  const tools = capabilities.flatMap(capability => capability.tools)

  /** Calls a tool as an agent that has this workspace. */
  const call = (
    { workspace }: Pick<WorkspaceRow, 'workspace'>,
    name: string,
    input: object = {},
    calling: Calling = {},
  ) => {
    const tool = tools.find(one => one.name === name)
    if (!tool) throw new AppError('TOOL_NOT_FOUND', `There is no tool "${name}".`)
    const caller = { kind: 'agent', organisation: 'default', name: workspace, workspace } as const
    const context: CallContext = { ...plainContext({}), caller, ...calling }
    return callTool(tool, input, context)
  }
  return { ...at, capabilities, call }
}
