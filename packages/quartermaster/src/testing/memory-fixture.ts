import { createIds, sha256 } from '../adapters/system/index.ts'
import {
  type Ability,
  DEFAULT_SETTINGS,
  type MemoryScope,
  type RecallWish,
  type Settings,
  type WorkspaceRow,
} from '../contracts/index.ts'
import { createMemory } from '../core/memory/index.ts'
import type { Store } from '../core/store/index.ts'
import { createFakeClock } from './fake-clock.ts'

let organisations = 0

/** A workspace as it lies in the store, of an organisation of the test's own. */
export function workspaceRow(
  id: string,
  { organisation, parentId = null, abilities = [] }: WorkspaceOptions,
): WorkspaceRow {
  return {
    id,
    organisation,
    workspace: id.replace(/^.*_/, ''),
    parentId,
    role: '',
    abilities,
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

export interface WorkspaceOptions {
  readonly organisation: string
  readonly parentId?: string | null
  readonly abilities?: Ability[]
}

/** A family of workspaces in an organisation of its own: a root, ada and bob below it, and cid below ada. */
export function family(store: Store, settings: Partial<Settings> = {}) {
  const organisation = `org${++organisations}`
  const clock = createFakeClock()
  const memory = createMemory({
    store,
    clock,
    ids: createIds(),
    digest: sha256,
    settings: { ...DEFAULT_SETTINGS, ...settings },
  })
  const at = (name: string, parent: string | null, abilities: Ability[] = []) =>
    workspaceRow(`${organisation}_${name}`, {
      organisation,
      parentId: parent === null ? null : `${organisation}_${parent}`,
      abilities,
    })
  const workspaces = {
    root: at('root', null, ['memory.global']),
    ada: at('ada', 'root'),
    bob: at('bob', 'root'),
    cid: at('cid', 'ada'),
  }
  const keep = async (workspace: WorkspaceRow, content: string, scope?: MemoryScope, conversationId?: string) =>
    (await memory.commit({ workspace }, { content, scope, conversationId })).memory
  const found = async (workspace: WorkspaceRow, query: string, wish: RecallWish = {}) =>
    (await memory.recall(workspace, { query, ...wish })).memories.map(({ content }) => content)
  return { organisation, memory, clock, keep, found, ...workspaces }
}
