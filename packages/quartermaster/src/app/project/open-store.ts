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
  createNodes,
  createRememberingStore,
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
  /** Which store it is; the file in the folder when nothing else was named. */
  readonly choice?: StoreChoice
  readonly settings: Settings
  /** Of the whole process: from now on it goes by the time of a store that several share. A new one when absent. */
  readonly clock?: FollowingClock | undefined
  readonly log: Log
  /** Who this process is among those that run operations; made up when absent. */
  readonly owner?: string | undefined
  /** Receives what became of each operation that another process left behind. */
  readonly onChange?: ((change: OperationChange) => void) | undefined
}

/** The store: tokens, operations and the audit. */
export interface OpenedStore extends Storage {
  readonly tokens: Tokens
  /** Organisations, their workspaces and persons. */
  readonly organisation: Organisation
  /** Files that go with messages. */
  readonly attachments: Attachments
  /** What workspaces remember. */
  readonly memory: Memory
  /** Messages, inboxes and logs. */
  readonly messages: Messages
  readonly settings: Settings
  /** What everything in it is dated by. */
  readonly clock: Clock
  /** Tasks that workspaces give each other. */
  readonly delegations: Delegations
  /** Where several processes share it: they, news of what they do, and the time they go by. */
  readonly shared?: { readonly news: StoreNews; readonly nodes: Nodes; readonly time: SharedTime } | undefined
  /** What it has done since it was opened. */
  statistics(): StoreStatistics
  /** Whether it answers now. */
  answers(): Promise<boolean>
  /** This process is ending, and has no time to wait for one that is away. */
  hurry?(): void
  close(): Promise<void>
}

const IN_FOLDER: StoreChoice = { databaseUrl: undefined, sealingKey: undefined }

/** Opens the store and ends what processes that are gone left behind. The caller holds the folder's lock. */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { dir } = options.folder
  try {
    return await open(options)
  } catch (error) {
    const isFile = options.choice?.databaseUrl === undefined
    if (!isFile || !isAppError(error) || error.code !== 'INTERNAL') throw error
    // It failed at the first thing that it read. Whether the file is to blame, only a look at all of it tells.
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
  const store = createRememberingStore(database)
  const parts = { store, clock, ids, random: systemRandom, settings, onChange }
  // Tasks are built upon messages, which ask for them when one is handed out or answered.
  const later: { delegations?: Delegations; messages?: Messages } = {}
  const settle = async (nodes: Nodes | undefined) => {
    await time?.align()
    const at = clock.now()
    const running = nodes && (async () => new Set((await nodes.running()).map(({ id }) => id)))
    tellLeftBehind(await recoverAfterCrash({ ...parts, running }), log)
    await later.messages?.inbox.releaseOrphans(running ?? (async () => new Set([owner])))
    await nodes?.forgetGone(at)
  }
  try {
    const nodes = news && time && (await joinNodes({ ...options, ...parts, owner, news, time, settle }))
    const tokens = createTokens({ store, clock, ids, digest: sha256, news })
    await tokens.load()
    // By what is in it: on another machine it is the same one.
    const syncedBy = sha256(`seats ${await folder.adminToken()}`)
    const organisation = createOrganisation({ ...parts, digest: sha256, log, tokens, folder: syncedBy })
    await organisation.load()
    const memory = createMemory({ ...parts, digest: sha256 })
    const attachments = createAttachments({ ...parts, log, openDigest: openSha256 })
    const common = { ...parts, digest: sha256, news, organisation, attachments }
    const messages = createMessages({ ...common, process: owner, tasks: () => later.delegations?.carried })
    later.messages = messages
    const delegations = createDelegations({ ...common, log, messages, isOurs: nodes?.isEldest })
    later.delegations = delegations
    await settle(nodes)
    const pruning = { store, clock, log, settings, isOurs: nodes?.isEldest }
    const pruners = [
      createPruner(pruning),
      createActivityPruner({ ...pruning, withThem: attachments.releaseOf }),
      createAttachmentPruner(pruning),
    ]
    for (const pruner of pruners) pruner.start()
    delegations.start()
    const close = async () => {
      messages.stop()
      await delegations.stop()
      await Promise.all(pruners.map(pruner => pruner.stop()))
      await organisation.stop()
      // One that the store cannot be told of is forgotten when its time is over.
      await nodes?.leave().catch(error => log.debug('could not say good-bye', { error: messageOf(error) }))
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

/** The reader has something to do about operations with an unknown outcome. */
function tellLeftBehind({ again, inDoubt, over, orphans }: RecoveredCalls, log: Log): void {
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
 * Which folder it is, on which machine: a copy of it elsewhere is another one. The holder of its lock takes all earlier holders
 * for gone, so to mistake one folder for another would end what runs.
 */
async function folderId(folder: DataFolder): Promise<string> {
  const { ino, dev } = statSync(folder.dir, { bigint: true })
  return sha256(`${hostname()} ${dev} ${ino} ${await folder.adminToken()}`)
}
