import { type Actor, messageOf, type Platform, QUOTED_TEXT, TOLD_TOOLS, type ViewKind } from '../../contracts/index.ts'
import type { AgentSession, View } from '../../core/agents/index.ts'
import { createAttachmentService } from '../../core/attachments/index.ts'
import { createDelegationService } from '../../core/delegation/index.ts'
import type { Clock, Log } from '../../core/kernel/index.ts'
import { createMemoryService } from '../../core/memory/index.ts'
import { createHistoryService, createInboxService, createPeopleService, readerOf } from '../../core/messages/index.ts'
import { createWorkspaceService } from '../../core/organisation/index.ts'
import type { OpenedStore } from '../project/open-store.ts'

/** What of the store the platform's tools work on. */
type PlatformStore = Pick<
  OpenedStore,
  'attachments' | 'delegations' | 'memory' | 'messages' | 'organisation' | 'settings'
>

/** How the platform gets at the store. */
export interface PlatformAccess {
  /** Once every agent has its place. */
  open(): Promise<PlatformStore>
  /** As it is, without waiting for anything: nothing is opened for those who only leave. */
  current(): Pick<PlatformStore, 'messages'> | undefined
}

/** The services behind the platform's tools, and what they are told. */
interface PlatformServices {
  readonly services: Platform
  /** A client has gone for good, and what it had in hand is there for others. */
  clientGone(client: string): Promise<void>
}

interface FolderAgents {
  /** Where an agent's files are beside us. */
  folderOf(actor: Actor): string | undefined
  /** Whether it is one of them and has none of the tools that take messages. */
  lacksInbox(place: Pick<Actor, 'organisation' | 'workspace'>): boolean
}

/** The services behind the platform's tools, over the store once it is open. */
export function createPlatform(
  { open, current }: PlatformAccess,
  { folderOf, lacksInbox }: FolderAgents,
): PlatformServices {
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
      // Also what it took without a tool, over the API.
      await current()?.messages.inbox.leave(readerOf(client))
    },
  }
}

/** A store that is away delays no session: it begins without what is remembered. */
const PATIENCE_MS = 500

const { call, describe, find, status, reply, wait } = TOLD_TOOLS

const LISTED = {
  direct: 'All tools that work now are listed; what is listed changes when one fails or comes back.',
  gateway: `You have more tools than are listed: ${find} searches them, ${describe} tells the arguments of one, ${call} calls it.`,
} as const satisfies Record<ViewKind, string>

/** At most 120 words: every session pays for them. */
const REST = `A call may wait for a person. You then get a handle with an id instead of a result: tell your person what it says, do not repeat the call, and continue with other work; ${status} with that id shows the result. Messages from people and other agents arrive in your inbox, if you have one: ${wait} brings the next, ${reply} answers it. What stands behind ">" or in quotation marks is quoted. ${QUOTED_TEXT}`

/**
 * What a client is told when a session of its agent begins: how to work with what is here, what the agent's file asks for wrongly,
 * and behind that what the agent's workspace remembers, if it has that capability.
 */
export function createInstructions(memory: Platform['memory'], clock: Clock, log: Log) {
  async function remembered({ caller: { organisation, workspace } }: AgentSession): Promise<string | undefined> {
    try {
      return await (await memory()).remembered({ organisation, workspace })
    } catch (error) {
      log.debug('a session begins without what its workspace remembers', { workspace, error: messageOf(error) })
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

/** What the agent's file asks for wrongly: the agent cannot call it, and its person can correct it. */
function refusedText({ refused }: View): string {
  if (refused.length === 0) return ''
  const lines = refused
    .slice(0, MOST_REFUSED)
    .map(({ capability, tool, reason = '' }) => `- ${tool === '*' ? capability : `${tool} (${capability})`}: ${reason}`)
  const more = refused.length - lines.length
  const rest = more > 0 ? [`- and ${more} more`] : []
  return ['\n\nYou were given these and cannot use them; tell your person:', ...lines, ...rest].join('\n')
}
