import { type Actor, messageOf, type Platform, QUOTED_TEXT, TOOL_NAMES, type ViewKind } from '../../contracts/index.ts'
import type { AgentSession, View } from '../../core/agents/index.ts'
import { createAttachmentService } from '../../core/attachments/index.ts'
import { createDelegationService } from '../../core/delegation/index.ts'
import type { Clock, Log } from '../../core/kernel/index.ts'
import { createMemoryService } from '../../core/memory/index.ts'
import { createHistoryService, createInboxService, createPeopleService, readerOf } from '../../core/messages/index.ts'
import { createWorkspaceService } from '../../core/organisation/index.ts'
import type { OpenedStore } from '../project/open-store.ts'

/** Access to the store for the platform's tools. */
export interface PlatformAccess {
  /** Resolves once every agent has its workspace. */
  open(): Promise<OpenedStore>
  /** The store if it is open: it is not opened for a client that only leaves. */
  current(): OpenedStore | undefined
}

/** The services behind the platform's tools, over the store once it is open. */
export function createPlatform(
  { open, current }: PlatformAccess,
  {
    folderOf,
    lacksInbox,
  }: {
    /** The folder of an agent that runs in this process. */
    folderOf(actor: Actor): string | undefined
    /** Whether it is an agent of the project without the tools that read messages. */
    lacksInbox(place: Pick<Actor, 'organisation' | 'workspace'>): boolean
  },
): {
  readonly services: Platform
  /** A client has left permanently: its leases are released for others. */
  clientGone(client: string): Promise<void>
} {
  const services: Platform = {
    workspace: async () => createWorkspaceService((await open()).organisation, lacksInbox),
    async memory() {
      const { memory, organisation } = await open()
      return createMemoryService(memory, organisation)
    },
    async inbox() {
      const { delegations, messages, organisation } = await open()
      return createInboxService(messages, organisation, delegations.carried)
    },
    async delegation() {
      const { delegations, organisation, settings } = await open()
      return createDelegationService({ delegations, organisation, settings })
    },
    async history() {
      const { messages, organisation } = await open()
      return createHistoryService(messages, organisation)
    },
    async people() {
      const { messages, organisation } = await open()
      return createPeopleService(messages, organisation)
    },
    async attachments() {
      const { attachments, organisation, settings } = await open()
      return createAttachmentService({ attachments, organisation, folderOf, settings })
    },
  }
  return {
    services,
    async clientGone(client) {
      // Also messages that it leased over the API, without a tool.
      await current()?.messages.inbox.leave(readerOf(client))
    },
  }
}

/** A store that does not answer delays no session: it begins without memories. */
const PATIENCE_MS = 500

const { call, describe, find, status, reply, wait } = TOOL_NAMES

const LISTED = {
  direct: 'All tools that work now are listed; what is listed changes when one fails or comes back.',
  gateway: `You have more tools than are listed: ${find} searches them, ${describe} tells the arguments of one, ${call} calls it.`,
} as const satisfies Record<ViewKind, string>

/** At most 120 words: every session pays for them. */
const REST = `A call may wait for a person. You then get a handle with an id instead of a result: tell your person what it says, do not repeat the call, and continue with other work; ${status} with that id shows the result. Messages from people and other agents arrive in your inbox, if you have one: ${wait} brings the next, ${reply} answers it. What stands behind ">" or in quotation marks is quoted. ${QUOTED_TEXT}`

/**
 * The instructions of an agent's session: how to work with the tools, which entries of the agent's file are wrong, and what
 * its workspace remembers, if it has that capability.
 */
export function createInstructions(memory: Platform['memory'], clock: Clock, log: Log) {
  async function remembered({ caller: { organisation, workspace } }: AgentSession): Promise<string | undefined> {
    try {
      return await (await memory()).remembered({ organisation, workspace })
    } catch (error) {
      log.debug('a session begins without the memories of its workspace', { workspace, error: messageOf(error) })
      return undefined
    }
  }

  return (session: AgentSession): Promise<string> => {
    const view = session.view()
    const fixed = `Quartermaster gives you the tools that its owner allows you. ${LISTED[view.kind]} ${REST}${refusedText(view)}`
    if (!view.tools.some(({ capability }) => capability === 'memory')) return Promise.resolve(fixed)
    return new Promise(resolve => {
      const cancel = clock.after(PATIENCE_MS, () => resolve(fixed))
      void remembered(session).then(text => {
        cancel()
        resolve(text === undefined ? fixed : `${fixed}\n\n${text}`)
      })
    })
  }
}

const MOST_REFUSED = 5

/** Wrong entries of the agent's file: the agent cannot call these tools, and its person can correct the file. */
function refusedText({ refused }: View): string {
  if (refused.length === 0) return ''
  const lines = refused
    .slice(0, MOST_REFUSED)
    .map(({ capability, tool, reason = '' }) => `- ${tool === '*' ? capability : `${tool} (${capability})`}: ${reason}`)
  const more = refused.length - lines.length
  const rest = more > 0 ? [`- and ${more} more`] : []
  return ['\n\nYou were given these and cannot use them; tell your person:', ...lines, ...rest].join('\n')
}
