import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import type { DataFolder } from '../adapters/data-folder/index.ts'
import { sha256 } from '../adapters/system/index.ts'
import { messageOf, type Settings } from '../contracts/index.ts'
import type { Clock, Log } from '../core/kernel/index.ts'
import { createNodes, type Nodes, type SharedTime, type Store, type StoreNews } from '../core/store/index.ts'
import { VERSION } from './version.ts'

export interface JoinOptions {
  readonly store: Store
  readonly news: StoreNews
  readonly time: SharedTime
  readonly folder: DataFolder
  readonly clock: Clock
  readonly log: Log
  readonly owner: string
  readonly settings: Pick<Settings, 'leaseSeconds'>
  /** Ends what others left behind who are gone. */
  settle(nodes: Nodes): Promise<void>
}

/** Makes this process one of those that work on the store. */
export async function joinNodes({
  store,
  news,
  time,
  folder,
  clock,
  log,
  owner,
  settings,
  settle,
}: JoinOptions): Promise<Nodes> {
  let isSettling = false
  const failed = (error: unknown) =>
    log.warn('what a process left behind that is gone could not be settled', { error: messageOf(error) })
  const nodes: Nodes = createNodes({
    store,
    clock,
    log,
    news,
    time,
    self: { id: owner, host: hostname().slice(0, 255), folder: await folderId(folder), version: VERSION },
    leaseMs: settings.leaseSeconds * 1000,
    onGone() {
      // One does it for all, and once at a time. Should it fail, the next look says so again.
      if (isSettling || !nodes.isEldest()) return
      isSettling = true
      settle(nodes)
        .catch(failed)
        .finally(() => {
          isSettling = false
        })
    },
  })
  await nodes.join()
  return nodes
}

/**
 * Which folder it is, on which machine: a copy of it elsewhere is another one. Whoever holds its lock knows that all who had it
 * before are gone, so to take one for another would end what runs.
 */
async function folderId(folder: DataFolder): Promise<string> {
  const { ino, dev } = statSync(folder.dir, { bigint: true })
  return sha256(`${hostname()} ${dev} ${ino} ${await folder.adminToken()}`)
}
