import type { Actor, Platform } from '../contracts/index.ts'
import { createAttachmentDesk } from '../core/attachments/index.ts'
import { createDelegationDesk } from '../core/delegation/index.ts'
import { createMemoryDesk } from '../core/memory/index.ts'
import { createHistoryDesk, createInboxDesk, createPeopleDesk, readerOf } from '../core/messages/index.ts'
import { createWorkspaceDesk } from '../core/organisation/index.ts'
import type { OpenedStore } from './open-store.ts'

/** What of the store the platform's tools work on. */
export type PlatformStore = Pick<
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

/** The desks of the platform's tools, and what they are told. */
export interface PlatformDesks {
  readonly desks: Platform
  /** A client has gone for good, and what it had in hand is there for others. */
  clientGone(client: string): Promise<void>
}

/** What is known of the agents of the folder. */
export interface FolderAgents {
  /** Where an agent's files are beside us. */
  folderOf(actor: Actor): string | undefined
  /** Whether it is one of them and has none of the tools that take messages. */
  lacksInbox(place: Pick<Actor, 'organisation' | 'workspace'>): boolean
}

/** The desks of the platform's tools, over the store once it is open. */
export function createPlatform(
  { open, current }: PlatformAccess,
  { folderOf, lacksInbox }: FolderAgents,
): PlatformDesks {
  const desks: Platform = {
    workspace: async () => createWorkspaceDesk((await open()).organisation, lacksInbox),
    async memory() {
      const { memory, organisation } = await open()
      return createMemoryDesk(memory, organisation)
    },
    async inbox() {
      const { delegations, messages, organisation } = await open()
      return createInboxDesk(messages, organisation, delegations.carried)
    },
    async delegation() {
      const { delegations, organisation, settings } = await open()
      return createDelegationDesk({ delegations, organisation, settings })
    },
    async history() {
      const { messages, organisation } = await open()
      return createHistoryDesk(messages, organisation)
    },
    async people() {
      const { messages, organisation } = await open()
      return createPeopleDesk(messages, organisation)
    },
    async attachments() {
      const { attachments, organisation, settings } = await open()
      return createAttachmentDesk({ attachments, organisation, folderOf, settings })
    },
  }
  return {
    desks,
    async clientGone(client) {
      // Also what it took without a tool, over the API.
      await current()?.messages.inbox.leave(readerOf(client))
    },
  }
}
