import { onTestFinished } from 'vitest'
import { createIds, sha256, silentLog } from '../adapters/system/index.ts'
import {
  DEFAULT_ORGANISATION,
  DEFAULT_SETTINGS,
  type DelegationChange,
  type DelegationWish,
  type Settings,
  type WorkspaceRow,
} from '../contracts/index.ts'
import { createDelegations, type Delegations } from '../core/delegation/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import { type Attachments, createMessages } from '../core/messages/index.ts'
import type { Store, StoreNews } from '../core/store/index.ts'
import { createMemoryStore } from './memory-store.ts'
import { openOrganisation } from './organisation-fixture.ts'

export interface DelegationFixtureOptions {
  readonly settings?: Partial<Settings>
  /** One in memory when absent. */
  readonly store?: Store
  /** Keeps files; no store when absent. */
  attachments?(parts: { readonly store: Store; readonly clock: Clock }): Attachments
}

/** Workspaces that give each other tasks, with a clock that stands still. */
export async function openDelegations({ settings, store: given, attachments }: DelegationFixtureOptions = {}) {
  const store = given ?? createMemoryStore()
  const all = { ...DEFAULT_SETTINGS, ...settings }
  const fixture = await openOrganisation({ store, ...(settings && { settings }) })
  const { clock, organisation } = fixture

  /** One more process on the same store. */
  const another = (news?: StoreNews, over: Store = store) => {
    const parts = {
      store: over,
      clock,
      ids: createIds(),
      digest: sha256,
      organisation,
      settings: all,
      news,
      log: silentLog,
      attachments: attachments?.({ store: over, clock }),
    }
    const late: { delegations?: Delegations } = {}
    const messages = createMessages({ ...parts, process: 'process_test', tasks: () => late.delegations?.carried })
    const made = createDelegations({ ...parts, messages })
    late.delegations = made
    onTestFinished(async () => {
      messages.stop()
      await made.stop()
    })
    return { messages, delegations: made }
  }
  const first = another()
  const changes: DelegationChange[] = []
  first.delegations.events.on('delegation.changed', change => void changes.push(change))

  /** Workspaces beside each other. */
  async function workspaces<N extends string>(...names: readonly N[]): Promise<Record<N, WorkspaceRow>> {
    const made = await Promise.all(names.map(name => organisation.workspaces.create(DEFAULT_ORGANISATION, { name })))
    return Object.fromEntries(names.map((name, i) => [name, made[i]])) as Record<N, WorkspaceRow>
  }

  const ask = async (from: WorkspaceRow, to: WorkspaceRow, wish: Partial<DelegationWish> = {}) =>
    (await first.delegations.delegate(from, { to: to.id, task: 'count the boxes', ...wish })).row

  /** What waits for this workspace, in hand. */
  const take = async (workspace: WorkspaceRow, limit = 100) =>
    (await first.messages.inbox.take({ workspace, reader: 'r1', limit })).rows

  const stateOf = async (id: string) => (await store.get('delegations', id))?.state

  return { ...fixture, ...first, store, another, changes, workspaces, ask, take, stateOf }
}
