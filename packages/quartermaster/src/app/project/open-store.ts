import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import type { DataFolder } from '../../adapters/data-folder/index.ts'
import type { StoreStatistics } from '../../adapters/storage-sql/index.ts'
import { damaged, inspectStore, storeFile } from '../../adapters/storage-sqlite/index.ts'
import { createIds, createSystemClock, openSha256, sha256, systemRandom } from '../../adapters/system/index.ts'
import { isAppError, messageOf, type OperationChange, type Settings } from '../../contracts/index.ts'
import { type Attachments, createAttachmentPruner, createAttachments } from '../../core/attachments/index.ts'
import { createDelegations, type Delegations } from '../../core/delegation/index.ts'
import type { Clock, FollowingClock, Log } from '../../core/kernel/index.ts'
import { createMemory, type Memory } from '../../core/memory/index.ts'
import { createActivityPruner, createMessages, type Messages } from '../../core/messages/index.ts'
import { createPruner, type RecoveredCalls, recoverAfterCrash, type Storage } from '../../core/operations/index.ts'
import { createOrganisation, createTokens, type Organisation, type Tokens } from '../../core/organisation/index.ts'
import {
  createCachingStore,
  createNodes,
  type Nodes,
  type SharedTime,
  type Store,
  type StoreNews,
} from '../../core/store/index.ts'
import { VERSION } from '../package-info.ts'
import { openDatabase } from './open-database.ts'
import type { StoreChoice } from './store-choice.ts'

export interface OpenStoreOptions {
  readonly folder: DataFolder
  /** The file in the folder when absent. */
  readonly choice?: StoreChoice
  readonly settings: Settings
  /** Follows the time of a shared store from now on. A new one when absent. */
  readonly clock?: FollowingClock | undefined
  readonly log: Log
  /** Identifies this process among those that run operations; generated when absent. */
  readonly owner?: string | undefined
  /** Receives the outcome of each operation that another process left behind. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
}

/** The store, with the services over it. */
export interface OpenedStore extends Storage {
  readonly tokens: Tokens
  /** Organisations, their workspaces and persons. */
  readonly organisation: Organisation
  /** Files attached to messages. */
  readonly attachments: Attachments
  /** Memories of workspaces. */
  readonly memory: Memory
  /** Messages, inboxes and logs. */
  readonly messages: Messages
  readonly settings: Settings
  /** Dates everything in the store. */
  readonly clock: Clock
  /** Tasks that workspaces give each other. */
  readonly delegations: Delegations
  /** For a store that several processes share: their changes, the list of them, and their common time. */
  readonly shared?: { readonly news: StoreNews; readonly nodes: Nodes; readonly time: SharedTime } | undefined
  statistics(): StoreStatistics
  /** Whether it answers now. */
  answers(): Promise<boolean>
  /** This process is ending, and has no time to wait for a store that does not answer. */
  hurry?(): void
  close(): Promise<void>
}

const IN_FOLDER: StoreChoice = { databaseUrl: undefined, sealingKey: undefined }

/** Opens the store and recovers the operations of ended processes. The caller holds the folder's lock. */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { dir } = options.folder
  try {
    return await open(options)
  } catch (error) {
    const isFile = options.choice?.databaseUrl === undefined
    if (!isFile || !isAppError(error) || error.code !== 'INTERNAL') throw error
    // Only a check of the whole file tells whether it is damaged.
    const condition = await inspectStore(dir)
    if (condition.state !== 'damaged') throw error
    throw damaged(storeFile(dir), { reason: condition.reason, cause: error })
  }
}

async function open(options: OpenStoreOptions): Promise<OpenedStore> {
  const { folder, choice = IN_FOLDER, settings, log, onChange, clock = createSystemClock() } = options
  const ids = createIds()
  const owner = options.owner ?? ids.next('process')
  const database = await openDatabase({ folder, choice, clock, log })
  const { sealer, news, time } = database
  const store = createCachingStore(database)
  const parts = { store, clock, ids, random: systemRandom, settings, onChange }
  // Delegations need messages, and messages ask delegations when one is delivered or answered.
  const later: { delegations?: Delegations; messages?: Messages } = {}
  const settle = async (nodes: Nodes | undefined) => {
    await time?.align()
    const at = clock.now()
    const running = nodes && (async () => new Set((await nodes.running()).map(({ id }) => id)))
    logRecovered(await recoverAfterCrash({ ...parts, running }), log)
    await later.messages?.inbox.releaseOrphans(running ?? (async () => new Set([owner])))
    await nodes?.removeGone(at)
  }
  try {
    const nodes = news && time && (await joinNodes({ ...options, ...parts, owner, news, time, settle }))
    const tokens = createTokens({ store, clock, ids, digest: sha256, news })
    await tokens.load()
    // Derived from the folder's contents, so that a copy on another machine is the same folder.
    const syncedBy = sha256(`seats ${await folder.adminToken()}`)
    const organisation = createOrganisation({ ...parts, digest: sha256, log, tokens, folder: syncedBy })
    await organisation.load()
    const memory = createMemory({ ...parts, digest: sha256 })
    const attachments = createAttachments({ ...parts, log, openDigest: openSha256 })
    const common = { ...parts, digest: sha256, news, organisation, attachments }
    const messages = createMessages({ ...common, process: owner, tasks: () => later.delegations?.carried })
    later.messages = messages
    const delegations = createDelegations({ ...common, log, messages, isOurs: nodes?.isOldest })
    later.delegations = delegations
    await settle(nodes)
    const pruning = { store, clock, log, settings, isOurs: nodes?.isOldest }
    const pruners = [
      createPruner(pruning),
      createActivityPruner({ ...pruning, relatedWrites: attachments.releaseOf }),
      createAttachmentPruner(pruning),
    ]
    for (const pruner of pruners) pruner.start()
    delegations.start()
    const close = async () => {
      messages.stop()
      await delegations.stop()
      await Promise.all(pruners.map(pruner => pruner.stop()))
      await organisation.stop()
      // If the store does not answer, the entry expires.
      await nodes
        ?.leave()
        .catch(error =>
          log.debug('this process could not be removed from the list of nodes', { error: messageOf(error) }),
        )
      await database.close()
    }
    const shared = news && nodes && time && { news, nodes, time }
    return {
      ...database,
      store,
      sealer,
      tokens,
      organisation,
      attachments,
      memory,
      messages,
      delegations,
      settings,
      clock,
      shared,
      close,
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** A person has to decide about operations with an unknown outcome, so that is a warning with a command. */
function logRecovered({ again, inDoubt, over, orphans }: RecoveredCalls, log: Log): void {
  const when = 'calls were running when their process ended'
  if (inDoubt > 0)
    log.warn(`${when}, and may have done their work: see quartermaster operations list --dead`, { inDoubt })
  if (again > 0) log.warn(`${when}, and are tried again`, { again })
  if (over > 0) log.warn(`${when}; they change nothing and can be called again`, { over })
  if (orphans > 0)
    log.warn('calls from inside other ones waited when their process ended, and are cancelled with those', {
      orphans,
    })
}

/** Adds this process to the list of those that use the store. */
async function joinNodes({
  store,
  news,
  time,
  folder,
  clock,
  log,
  owner,
  settings,
  settle,
}: {
  readonly store: Store
  readonly news: StoreNews
  readonly time: SharedTime
  readonly folder: DataFolder
  readonly clock: Clock
  readonly log: Log
  readonly owner: string
  readonly settings: Settings
  /** Recovers the operations of ended processes. */
  settle(nodes: Nodes): Promise<void>
}): Promise<Nodes> {
  let isSettling = false
  const failed = (error: unknown) =>
    log.warn('the operations of an ended process could not be recovered', { error: messageOf(error) })
  const nodes: Nodes = createNodes({
    store,
    clock,
    log,
    news,
    time,
    self: { id: owner, host: hostname().slice(0, 255), folder: await folderId(folder), version: VERSION },
    leaseMs: settings.leaseSeconds * 1000,
    onGone() {
      // The oldest process does it for all, once at a time. If it fails, the next check calls this again.
      if (isSettling || !nodes.isOldest()) return
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
 * Identifies the folder on this machine: a copy elsewhere is another folder. The holder of a folder's lock takes all earlier
 * holders for ended, so mistaking one folder for another would end what runs.
 */
async function folderId(folder: DataFolder): Promise<string> {
  const { ino, dev } = statSync(folder.dir, { bigint: true })
  return sha256(`${hostname()} ${dev} ${ino} ${await folder.adminToken()}`)
}
