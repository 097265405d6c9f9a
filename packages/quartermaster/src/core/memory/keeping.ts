import {
  AppError,
  type CommittedMemory,
  type MemoryRow,
  type MemoryScope,
  type MemoryUpdate,
  type MemoryWish,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, createFullness, type Digest, type Ids } from '../kernel/index.ts'
import { insertNext, mustNotExist, remove, type Store, update } from '../store/index.ts'
import { memoryFacts } from './memory-row.ts'
import type { MemoryWords } from './memory-words.ts'
import { redactSecrets } from './redaction.ts'
import type { Shelves } from './shelves.ts'

export interface KeepingDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly shelves: Shelves
  readonly words: MemoryWords
  readonly settings: MemorySettings
}

export type MemorySettings = Pick<Settings, 'workspaceMemories'>

/** Who keeps something, and by which call. */
export interface Author {
  readonly workspace: WorkspaceRow
  readonly operationId?: string | undefined
}

/** Writes memories, changes them and takes them away. */
export interface Keeping {
  keep(author: Author, wish: MemoryWish): Promise<CommittedMemory>
  /** Changes a memory that the author can read. */
  change(author: Author, row: MemoryRow, wish: MemoryUpdate): Promise<CommittedMemory>
  /** Whether it was there to be taken away. */
  forget(row: MemoryRow): Promise<boolean>
}

/** What one author remembers within that time belongs together, where no conversation is named. */
const TOGETHER_MS = 10 * 60_000

export function createKeeping({ store, clock, ids, digest, shelves, words, settings }: KeepingDeps): Keeping {
  const now = () => Math.round(clock.now())

  /** Of one author: whoever commits too much keeps nobody else from the shelf that they share. */
  const isFull = createFullness({
    most: settings.workspaceMemories,
    keyOf: ({ shelf, workspaceId }: { shelf: string; workspaceId: string }) => `${shelf} ${workspaceId}`,
    count: place => store.count('memories', place),
  })

  async function lyingThere(shelf: string, hash: string): Promise<MemoryRow | undefined> {
    return (await store.find('memories', { where: { shelf, digest: hash }, limit: 1 }))[0]
  }

  /** What was remembered right before, in the same conversation or by the same author a moment ago. */
  async function previousId(shelf: string, workspaceId: string, conversationId: string | null): Promise<string | null> {
    const [last] = await store.find('memories', {
      where: conversationId === null ? { shelf, workspaceId } : { shelf, conversationId },
      order: { by: ['slot'], direction: 'descending' },
      limit: 1,
      columns: ['id', 'createdAt', 'conversationId'],
    })
    if (!last || last.conversationId !== conversationId) return null
    return conversationId !== null || now() - last.createdAt <= TOGETHER_MS ? last.id : null
  }

  async function keep({ workspace, operationId = undefined }: Author, wish: MemoryWish): Promise<CommittedMemory> {
    const { scope = 'LOCAL', conversationId = null } = wish
    const shelf = shelves.writable(workspace, scope)
    const { text: content, count: redacted } = redactSecrets(wish.content)
    const hash = digest(content)
    const [there, before] = await Promise.all([
      lyingThere(shelf, hash),
      previousId(shelf, workspace.id, conversationId),
    ])
    if (there) return { memory: memoryFacts(there), outcome: 'known', redacted }
    if (await isFull({ shelf, workspaceId: workspace.id })) throw full(workspace, scope, settings)
    const row = {
      id: ids.next('mem'),
      organisation: workspace.organisation,
      workspace: workspace.workspace,
      workspaceId: workspace.id,
      scope,
      shelf,
      content,
      digest: hash,
      words: words.of(content),
      version: 1,
      conversationId,
      operationId: operationId ?? null,
      previousId: before,
      createdAt: now(),
      updatedAt: now(),
      updatedBy: workspace.workspace,
    }
    const write = insertNext('memories', row, { column: 'slot', within: [], guard: 'memory.new' })
    const { committed } = await store.commit([write])
    if (committed) return { memory: memoryFacts({ ...row, slot: 1 }), outcome: 'created', redacted }
    // Somebody else has put the same there in this moment.
    const other = await lyingThere(shelf, hash)
    if (other) return { memory: memoryFacts(other), outcome: 'known', redacted }
    throw new AppError('EDIT_CONFLICT', 'The same memory was put there and taken away in this moment. Try again.')
  }

  async function change({ workspace }: Author, row: MemoryRow, wish: MemoryUpdate): Promise<CommittedMemory> {
    const { version = row.version } = wish
    const scope = wish.scope ?? row.scope
    expectChangeable(workspace, row, scope)
    // Also where it already lies: who may not write there any more changes nothing there.
    shelves.writable(workspace, row.scope)
    const shelf = scope === row.scope ? row.shelf : shelves.writable(workspace, scope)
    const { text: content, count: redacted } = redactSecrets(wish.content)
    const hash = digest(content)
    // An update that is made once more, because its answer got lost, is no other.
    if (row.shelf === shelf && row.digest === hash) return { memory: memoryFacts(row), outcome: 'known', redacted }
    if (row.shelf !== shelf && (await isFull({ shelf, workspaceId: row.workspaceId })))
      throw full(workspace, scope, settings)
    const set = {
      scope,
      shelf,
      content,
      digest: hash,
      words: words.of(content),
      version: version + 1,
      updatedAt: now(),
      updatedBy: workspace.workspace,
    }
    const { id } = row
    const outcome = await store.commit([
      mustNotExist('memories', { shelf, digest: hash, id: { not: id } }, 'memory.other'),
      update('memories', { where: { id, version }, set, guard: 'memory.version' }),
    ])
    if (outcome.committed) return { memory: memoryFacts({ ...row, ...set }), outcome: 'updated', redacted }
    throw outcome.failed.guard === 'memory.other' ? doubled() : overtaken(row, version)
  }

  return {
    keep,
    change,
    async forget({ id }) {
      const { committed } = await store.commit([remove('memories', { where: { id } })])
      return committed
    },
  }
}

/**
 * What an author wrote it may change; what the organisation reads, whoever may write there. Only an author takes it elsewhere:
 * on the shelf of another it would be neither the author's to read nor the other's to change.
 */
function expectChangeable(workspace: WorkspaceRow, row: MemoryRow, scope: MemoryScope): void {
  if (row.workspaceId === workspace.id || (row.scope === 'GLOBAL' && scope === 'GLOBAL')) return
  if (row.scope === 'GLOBAL')
    throw new AppError(
      'REQUEST_REFUSED',
      `"${row.id}" was written by "${row.workspace}": you may change what it says, and only its author where it is read. Leave out "scope".`,
    )
  throw new AppError(
    'REQUEST_REFUSED',
    `"${row.id}" was written by "${row.workspace}", and only it may change it. Commit what you know as a memory of your own.`,
  )
}

function full({ workspace }: WorkspaceRow, scope: MemoryScope, { workspaceMemories: limit }: MemorySettings): AppError {
  return new AppError(
    'LIMIT_EXCEEDED',
    `"${workspace}" has ${limit} ${scope} memories, which is as many as it may have. Forget some that are not needed, or have one say more (memory_id); the owner can raise workspaceMemories.`,
    { details: { limit } },
  )
}

function doubled(): AppError {
  return new AppError(
    'EDIT_CONFLICT',
    'Another memory in that scope says exactly this already. Forget one of the two instead.',
  )
}

function overtaken({ id }: MemoryRow, version: number): AppError {
  return new AppError(
    'EDIT_CONFLICT',
    `"${id}" is no longer version ${version}: it was changed or forgotten meanwhile. Recall it, and decide again what it is to say.`,
  )
}
