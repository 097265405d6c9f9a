import type { Actor, Platform } from '../contracts/index.ts'
import { createAttachmentDesk } from '../core/attachments/index.ts'
import { createDelegationDesk } from '../core/delegation/index.ts'
import { createMemoryDesk } from '../core/memory/index.ts'
import { createHistoryDesk, createInboxDesk, createPeopleDesk } from '../core/messages/index.ts'
import { createWorkspaceDesk } from '../core/organisation/index.ts'
import type { OpenedStore } from './open-store.ts'

/** What of the store the platform's tools work on. */
export type PlatformStore = Pick<
  OpenedStore,
  'attachments' | 'delegations' | 'memory' | 'messages' | 'organisation' | 'settings'
>

/** The desks of the platform's tools, over the store once it is open. `folderOf` says where an agent's files are beside us. */
export function createPlatform(
  open: () => Promise<PlatformStore>,
  folderOf: (actor: Actor) => string | undefined = () => undefined,
): Platform {
  return {
    workspace: async () => createWorkspaceDesk((await open()).organisation),
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
}
