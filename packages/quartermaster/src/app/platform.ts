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

/** The desks of the platform's tools, and what they are told. */
export interface PlatformDesks {
  readonly desks: Platform
  /** A client has gone for good, and what it had in hand is there for others. */
  clientGone(client: string): Promise<void>
}

/** The desks of the platform's tools, over the store once it is open. `folderOf` says where an agent's files are beside us. */
export function createPlatform(
  open: () => Promise<PlatformStore>,
  folderOf: (actor: Actor) => string | undefined = () => undefined,
): PlatformDesks {
  // Nobody has anything in hand before the first has asked, and nothing is opened for those who only leave.
  let inbox: Promise<PlatformStore> | undefined
  const desks: Platform = {
    workspace: async () => createWorkspaceDesk((await open()).organisation),
    async memory() {
      const { memory, organisation } = await open()
      return createMemoryDesk(memory, organisation)
    },
    async inbox() {
      inbox = open()
      const { delegations, messages, organisation } = await inbox
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
      await (await inbox)?.messages.inbox.leave(readerOf(client))
    },
  }
}
