// @ts-check
// The built store with everything on it, in this process: what is measured is not the way there.
import { join } from 'node:path'

/** @param {string} file */
const built = file => import(new URL(`../../packages/quartermaster/dist/modules/${file}`, import.meta.url).href)

/** @type {typeof import('../../packages/quartermaster/src/app/project/open-store.ts')} */
const { openStore } = await built('app/project/open-store.js')
/** @type {typeof import('../../packages/quartermaster/src/adapters/data-folder/index.ts')} */
const { openDataFolder } = await built('adapters/data-folder/index.js')
/** @type {typeof import('../../packages/quartermaster/src/adapters/system/index.ts')} */
const { silentLog } = await built('adapters/system/index.js')
/** @type {typeof import('../../packages/quartermaster/src/contracts/index.ts')} */
const { DEFAULT_ORGANISATION, DEFAULT_SETTINGS } = await built('contracts/index.js')
/** @type {typeof import('../../packages/quartermaster/src/core/messages/index.ts')} */
const { draftMessage, workspaceParty } = await built('core/messages/index.js')

/** @typedef {import('../../packages/quartermaster/src/contracts/index.ts').WorkspaceRow} WorkspaceRow */
/** @typedef {Awaited<ReturnType<typeof openHouse>>} House */

/** So many messages are committed together while a store is filled. */
const BATCH = 250

/** @param {import('./stage.mjs').Place} place */
export async function openHouse({ dir, databaseUrl }) {
  const folder = openDataFolder(join(dir, '.quartermaster'))
  await folder.ensure()
  const opened = await openStore({
    folder,
    choice: { databaseUrl, sealingKey: undefined },
    settings: { ...DEFAULT_SETTINGS, inboxLeaseSeconds: 3_600 },
    log: silentLog,
  })
  let next = 0

  return {
    ...opened,

    /** @param {string} name */
    workspace: name => opened.organisation.workspaces.create(DEFAULT_ORGANISATION, { name }),

    /**
     * Puts so many messages on record, as they are when they were sent one by one.
     * @param {WorkspaceRow} from
     * @param {WorkspaceRow} to
     * @param {number} count
     */
    async fill(from, to, count) {
      for (let done = 0; done < count; done += BATCH) {
        const drafts = Array.from({ length: Math.min(BATCH, count - done) }, () =>
          draftMessage({
            messageId: `msg_filled${next++}`,
            organisation: from.organisation,
            from: workspaceParty(from),
            to: workspaceParty(to),
            kind: 'peer_agent',
            text: `This is message ${next}, and it says no more than that.`,
            conversationId: `conv_filled${next % 1_000}_${to.id}`,
            createdAt: Date.now(),
          }),
        )
        const { committed } = await opened.messages.sending.commit(drafts)
        if (!committed) throw new Error('The store could not be filled.')
      }
    },
  }
}
