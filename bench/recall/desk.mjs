// @ts-check
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @param {string} file */
const built = file => import(new URL(`../../packages/quartermaster/dist/modules/${file}`, import.meta.url).href)
/** @type {typeof import('../../packages/quartermaster/src/adapters/storage-sqlite/index.ts')} */
const { openSqliteStore } = await built('adapters/storage-sqlite/index.js')
/** @type {typeof import('../../packages/quartermaster/src/adapters/system/index.ts')} */
const { createIds, createSystemClock, sha256, silentLog } = await built('adapters/system/index.js')
/** @type {typeof import('../../packages/quartermaster/src/contracts/index.ts')} */
const { DEFAULT_SETTINGS } = await built('contracts/index.js')
/** @type {typeof import('../../packages/quartermaster/src/core/memory/index.ts')} */
const { createMemory } = await built('core/memory/index.js')

/** A memory in a folder of its own, and a workspace that remembers in it. */
export async function openFixture() {
  const dir = await mkdtemp(join(tmpdir(), 'recall-'))
  const store = await openSqliteStore({ dir, log: silentLog })
  const memory = createMemory({
    store,
    clock: createSystemClock(),
    ids: createIds(),
    digest: sha256,
    settings: DEFAULT_SETTINGS,
  })
  return {
    memory,
    async close() {
      await store.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/**
 * One workspace for each conversation, so that none is answered from another.
 * @param {string} name
 * @returns {import('../../packages/quartermaster/src/contracts/index.ts').WorkspaceRow}
 */
export function workspaceOf(name) {
  return {
    id: `ws_${name}`,
    organisation: 'bench',
    workspace: name,
    parentId: null,
    role: '',
    abilities: [],
    status: 'active',
    origin: 'joined',
    delivery: 'poll',
    capacity: null,
    description: null,
    card: null,
    createdAt: 1,
    registeredAt: null,
    lastSeenAt: null,
  }
}
