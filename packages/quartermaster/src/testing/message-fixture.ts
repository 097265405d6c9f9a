import { onTestFinished } from 'vitest'
import { openSqliteStore } from '../adapters/storage-sqlite/index.ts'
import { createIds, sha256, silentLog } from '../adapters/system/index.ts'
import { DEFAULT_ORGANISATION, DEFAULT_SETTINGS, type Settings, type WorkspaceRow } from '../contracts/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import { type Attachments, createActivityPruner, createMessages } from '../core/messages/index.ts'
import type { Store, StoreNews } from '../core/store/index.ts'
import { createMemoryStore } from './memory-store.ts'
import { openOrganisation } from './organisation-fixture.ts'
import { tempProject } from './temp-project.ts'

export interface MessageFixtureOptions {
  readonly settings?: Partial<Settings>
  /** One in memory when absent. */
  readonly store?: Store
  readonly attachments?: Attachments
}

/** Workspaces that write to each other, with a clock that stands still. */
export async function openMessages({ settings, store: given, attachments }: MessageFixtureOptions = {}) {
  const store = given ?? createMemoryStore()
  const all = { ...DEFAULT_SETTINGS, ...settings }
  const fixture = await openOrganisation({ store, ...(settings && { settings }) })
  const { clock, organisation } = fixture
  const another = (news?: StoreNews, over: Store = store, by: Clock = clock, process = 'process_test') =>
    createMessages({
      store: over,
      clock: by,
      ids: createIds(),
      digest: sha256,
      organisation,
      settings: all,
      news,
      attachments,
      process,
    })
  const messages = another()
  onTestFinished(() => messages.stop())
  const pruner = createActivityPruner({ store, clock, log: silentLog, settings: all })

  /** Workspaces beside each other, in the order of their names. */
  async function workspaces<N extends string>(...names: readonly N[]): Promise<Record<N, WorkspaceRow>> {
    const made = await Promise.all(names.map(name => organisation.workspaces.create(DEFAULT_ORGANISATION, { name })))
    return Object.fromEntries(names.map((name, i) => [name, made[i]])) as Record<N, WorkspaceRow>
  }

  const say = (from: WorkspaceRow, to: WorkspaceRow, text: string, conversationId?: string) =>
    messages.sending.toPeer(from, to.id, { text, conversationId })

  /** What this reader has in hand now. */
  const texts = async (workspace: WorkspaceRow, reader = 'r1', limit = 10) =>
    (await messages.inbox.take({ workspace, reader, limit })).rows.map(({ text }) => text)

  return { ...fixture, store, messages, another, pruner, workspaces, say, texts }
}

/** A database that is gone after the test. */
export async function openDatabase(): Promise<Store> {
  const { dir } = await tempProject()
  const store = await openSqliteStore({ dir, log: silentLog })
  onTestFinished(() => store.close())
  return store
}
