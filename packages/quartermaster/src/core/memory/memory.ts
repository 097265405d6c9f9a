import {
  AppError,
  type CommittedMemory,
  type ForgottenMemory,
  type MemoryFacts,
  type MemoryPage,
  type MemoryRow,
  type MemoryUpdate,
  type MemoryWish,
  type RecallWish,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import type { Clock, Digest, Ids } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import { type Author, createKeeping, type MemorySettings } from './keeping.ts'
import { memoryFacts } from './memory-row.ts'
import { createMemoryWords } from './memory-words.ts'
import { createRecall } from './recall.ts'
import { createShelves } from './shelves.ts'

/** What workspaces remember. What somebody may not read is not there for them. */
export interface Memory {
  commit(author: Author, wish: MemoryWish): Promise<CommittedMemory>
  /** Throws `NAME_UNKNOWN` for what is not there, `REQUEST_REFUSED` for another's, `EDIT_CONFLICT` when it changed meanwhile. */
  update(author: Author, id: string, wish: MemoryUpdate): Promise<CommittedMemory>
  forget(workspace: WorkspaceRow, id: string): Promise<ForgottenMemory>
  /** Takes away any memory of the organisation: for its owner. */
  forgetAny(organisation: string, id: string): Promise<ForgottenMemory>
  show(workspace: WorkspaceRow, id: string): Promise<MemoryFacts>
  showAny(organisation: string, id: string): Promise<MemoryFacts>
  /** Everything that is remembered in the organisation, newest first: for its owner. */
  listAny(organisation: string, wish: Omit<RecallWish, 'query'>): Promise<MemoryPage>
  /** What a workspace can read of what is asked. */
  recall(workspace: WorkspaceRow, wish: RecallWish): Promise<MemoryPage>
}

export interface MemoryDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly settings: MemorySettings
}

export function createMemory({ store, clock, ids, digest, settings }: MemoryDeps): Memory {
  const shelves = createShelves(digest)
  const words = createMemoryWords()
  const keeping = createKeeping({ store, clock, ids, digest, shelves, words, settings })
  const recall = createRecall({ store, clock, digest, words })

  async function ofOrganisation(organisation: string, id: string): Promise<MemoryRow | undefined> {
    const row = ID.test(id) ? await store.get('memories', id) : undefined
    return row?.organisation === organisation ? row : undefined
  }

  async function readable(workspace: WorkspaceRow, id: string): Promise<MemoryRow | undefined> {
    const row = await ofOrganisation(workspace.organisation, id)
    return row && shelves.readable(workspace).includes(row.shelf) ? row : undefined
  }

  async function forget(row: MemoryRow | undefined, id: string): Promise<ForgottenMemory> {
    return { id, forgotten: row !== undefined && (await keeping.forget(row)) }
  }

  /** What it wrote, what lies with the team it leads, and what it may write for the organisation. */
  function expectForgettable(workspace: WorkspaceRow, row: MemoryRow): void {
    if (row.scope === 'GLOBAL') return void shelves.writable(workspace, 'GLOBAL')
    if (row.workspaceId === workspace.id || row.shelf === shelves.led(workspace)) return
    throw new AppError(
      'REQUEST_REFUSED',
      `"${row.id}" was written by "${row.workspace}": only it and the workspace above it may forget it.`,
    )
  }

  return {
    commit: keeping.keep,
    async update(author, id, wish) {
      return keeping.change(author, expectThere(await readable(author.workspace, id), id), wish)
    },
    async forget(workspace, id) {
      const row = await readable(workspace, id)
      if (row) expectForgettable(workspace, row)
      return forget(row, id)
    },
    forgetAny: async (organisation, id) => forget(await ofOrganisation(organisation, id), id),
    show: async (workspace, id) => memoryFacts(expectThere(await readable(workspace, id), id)),
    showAny: async (organisation, id) => memoryFacts(expectThere(await ofOrganisation(organisation, id), id)),
    listAny: recall.all,
    recall: (workspace, wish) =>
      recall.on({ organisation: workspace.organisation, shelves: shelves.readable(workspace, wish.scope) }, wish),
  }
}

/** What ids are made of; nothing else needs to be looked for. */
const ID = /^[\w-]{1,128}$/

function expectThere(row: MemoryRow | undefined, id: string): MemoryRow {
  if (row) return row
  throw new AppError(
    'NAME_UNKNOWN',
    `There is no memory "${id.slice(0, 128)}" that can be read here. Recall lists what there is.`,
  )
}
