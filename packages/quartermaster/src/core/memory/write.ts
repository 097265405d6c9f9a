import {
  AppError,
  type CommittedMemory,
  type MemoryFacts,
  type MemoryRow,
  type MemoryScope,
  type MemoryScopeFilter,
  type MemoryUpdate,
  type MemoryWish,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, createFullnessCheck, type Digest, type Ids } from '../kernel/index.ts'
import { mask } from '../secrets/index.ts'
import { insertNext, mustNotExist, remove, type Store, update } from '../store/index.ts'
import type { MemoryWords } from './words.ts'

interface MemoryWriterDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly scopes: MemoryScopes
  readonly words: MemoryWords
  readonly settings: MemorySettings
}

export type MemorySettings = Pick<Settings, 'workspaceMemories'>

/** The workspace that writes, and the operation of its call. */
export interface Author {
  readonly workspace: WorkspaceRow
  readonly operationId?: string | undefined
}

interface MemoryWriter {
  keep(author: Author, wish: MemoryWish): Promise<CommittedMemory>
  /** Changes a memory that the author can read. */
  change(author: Author, row: MemoryRow, wish: MemoryUpdate): Promise<CommittedMemory>
  /** Whether the memory was still there. */
  forget(row: MemoryRow): Promise<boolean>
}

/** Without a conversation, memories of one author within this time are neighbours. */
const TOGETHER_MS = 10 * 60_000

export function createMemoryWriter({
  store,
  clock,
  ids,
  digest,
  scopes,
  words,
  settings,
}: MemoryWriterDeps): MemoryWriter {
  const now = () => Math.round(clock.now())

  /** The limit is per author, so that one author does not fill the scope for others. */
  const isFull = createFullnessCheck({
    most: settings.workspaceMemories,
    keyOf: (place: Pick<MemoryRow, 'shelf' | 'workspaceId'>) => `${place.shelf} ${place.workspaceId}`,
    count: place => store.count('memories', place),
  })

  async function sameContent(scopeKey: string, hash: string): Promise<MemoryRow | undefined> {
    return (await store.find('memories', { where: { shelf: scopeKey, digest: hash }, limit: 1 }))[0]
  }

  /** The memory right before, in the same conversation or by the same author a moment ago. */
  async function previousId(
    scopeKey: string,
    workspaceId: string,
    conversationId: string | null,
  ): Promise<string | null> {
    const [last] = await store.find('memories', {
      where: { shelf: scopeKey, ...(conversationId === null ? { workspaceId } : { conversationId }) },
      order: { by: ['slot'], direction: 'descending' },
      limit: 1,
      columns: ['id', 'createdAt', 'conversationId'],
    })
    if (!last || last.conversationId !== conversationId) return null
    return conversationId !== null || now() - last.createdAt <= TOGETHER_MS ? last.id : null
  }

  async function keep({ workspace, operationId = undefined }: Author, wish: MemoryWish): Promise<CommittedMemory> {
    const { scope = 'LOCAL', conversationId = null } = wish
    const scopeKey = scopes.writable(workspace, scope)
    const { text: content, count: redacted } = mask(wish.content)
    const hash = digest(content)
    const [there, before] = await Promise.all([
      sameContent(scopeKey, hash),
      previousId(scopeKey, workspace.id, conversationId),
    ])
    if (there) return { memory: memoryFacts(there), outcome: 'known', redacted }
    if (await isFull({ shelf: scopeKey, workspaceId: workspace.id })) throw full(workspace, scope, settings)
    const row = {
      id: ids.next('mem'),
      organisation: workspace.organisation,
      workspace: workspace.workspace,
      workspaceId: workspace.id,
      scope,
      shelf: scopeKey,
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
    // Another caller has just written the same content.
    const other = await sameContent(scopeKey, hash)
    if (other) return { memory: memoryFacts(other), outcome: 'known', redacted }
    throw new AppError('EDIT_CONFLICT', 'The same memory was put there and taken away in this moment. Try again.')
  }

  async function change({ workspace }: Author, row: MemoryRow, wish: MemoryUpdate): Promise<CommittedMemory> {
    const { version = row.version } = wish
    const scope = wish.scope ?? row.scope
    expectChangeable(workspace, row, scope)
    // Checked for the present scope as well: a workspace that lost the right to write there changes nothing there.
    scopes.writable(workspace, row.scope)
    const scopeKey = scope === row.scope ? row.shelf : scopes.writable(workspace, scope)
    const { text: content, count: redacted } = mask(wish.content)
    const hash = digest(content)
    // An update repeated because its answer got lost changes nothing.
    if (row.shelf === scopeKey && row.digest === hash) return { memory: memoryFacts(row), outcome: 'known', redacted }
    if (row.shelf !== scopeKey && (await isFull({ shelf: scopeKey, workspaceId: row.workspaceId })))
      throw full(workspace, scope, settings)
    const set = {
      scope,
      shelf: scopeKey,
      content,
      digest: hash,
      words: words.of(content),
      version: version + 1,
      updatedAt: now(),
      updatedBy: workspace.workspace,
    }
    const { id } = row
    const outcome = await store.commit([
      mustNotExist('memories', { shelf: scopeKey, digest: hash, id: { not: id } }, 'memory.other'),
      update('memories', { where: { id, version }, set, guard: 'memory.version' }),
    ])
    if (outcome.committed) return { memory: memoryFacts({ ...row, ...set }), outcome: 'updated', redacted }
    throw outcome.failed.guard === 'memory.other' ? duplicate() : versionConflict(row, version)
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
 * An author may change its own memories; a GLOBAL memory may be changed by every workspace with the ability. Only the author may
 * change the scope: in a scope of another workspace the author could not read the memory, nor the other change it.
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

function duplicate(): AppError {
  return new AppError(
    'EDIT_CONFLICT',
    'Another memory in that scope says exactly this already. Forget one of the two instead.',
  )
}

function versionConflict({ id }: MemoryRow, version: number): AppError {
  return new AppError(
    'EDIT_CONFLICT',
    `"${id}" is no longer version ${version}: it was changed or forgotten meanwhile. Recall it, and decide again what it is to say.`,
  )
}

/** A memory as its readers see it. */
export function memoryFacts(row: Omit<MemoryRow, 'words' | 'digest' | 'organisation'>): MemoryFacts {
  const { id, scope, content, version, workspaceId, workspace, operationId, conversationId } = row
  const { createdAt, updatedAt, updatedBy } = row
  return {
    id,
    scope,
    content,
    version,
    provenance: { workspaceId, workspaceName: workspace, operationId, conversationId, createdAt, updatedAt, updatedBy },
  }
}

/** In characters: about 32,000 tokens, twice in an answer that has text and data. */
export const MOST_ON_A_PAGE = 128 * 1_024

/** The first rows that fit into one answer; at least one. */
export function fittingOnePage<T extends { readonly content: string }>(rows: readonly T[]): T[] {
  let size = 0
  const end = rows.findIndex(({ content }, i) => {
    size += content.length
    return i > 0 && size > MOST_ON_A_PAGE
  })
  return rows.slice(0, end === -1 ? rows.length : end)
}

/** The facts about a workspace that decide which memories it reads and writes. */
export type Reader = Pick<WorkspaceRow, 'id' | 'organisation' | 'parentId' | 'abilities'>

/**
 * The only place that decides who reads and writes which memories. A memory belongs to one scope, known by its key, and all readers
 * of the scope read it: every workspace has one of its own, every leading workspace one with its team, every organisation one.
 */
export interface MemoryScopes {
  /** The keys of all scopes that a workspace reads, or of one kind. */
  readable(reader: Reader, scope?: MemoryScopeFilter): readonly string[]
  /** The key of the scope that a new memory belongs to. Throws `REQUEST_REFUSED` when the workspace may not write there. */
  writable(reader: Reader, scope: MemoryScope): string
  /** The key of the team that a workspace leads: it may forget memories there, whichever workspace wrote them. */
  led(reader: Reader): string
}

/** The ability to write what the whole organisation reads. */
export const MAY_WRITE_GLOBAL = 'memory.global'

export function createMemoryScopes(digest: Digest): MemoryScopes {
  const name = (scope: MemoryScope, organisation: string, id: string) =>
    `${scope.charAt(0).toLowerCase()}${digest(JSON.stringify([organisation, scope, id])).slice(0, 32)}`
  const local = ({ organisation, id }: Reader) => name('LOCAL', organisation, id)
  const team = (organisation: string, leader: string) => name('TEAM', organisation, leader)
  const global = ({ organisation }: Reader) => name('GLOBAL', organisation, '')
  const led = ({ organisation, id }: Reader) => team(organisation, id)
  // No workspace is above or beside a root, so its team is the one that it leads.
  const own = (reader: Reader) => team(reader.organisation, reader.parentId ?? reader.id)

  const keysOf: Readonly<Record<MemoryScope, (reader: Reader) => readonly string[]>> = {
    LOCAL: reader => [local(reader)],
    TEAM: reader => [...new Set([own(reader), led(reader)])],
    GLOBAL: reader => [global(reader)],
  }

  return {
    readable: (reader, scope = '') =>
      scope === '' ? Object.values(keysOf).flatMap(keys => keys(reader)) : keysOf[scope](reader),
    writable(reader, scope) {
      if (scope === 'LOCAL') return local(reader)
      if (scope === 'TEAM') return own(reader)
      if (reader.abilities.includes(MAY_WRITE_GLOBAL)) return global(reader)
      throw refused()
    },
    led,
  }
}

function refused(): AppError {
  return new AppError(
    'REQUEST_REFUSED',
    `GLOBAL memory is written, changed and forgotten by workspaces with the ability "${MAY_WRITE_GLOBAL}", which an administrator gives. Nothing was done. For what is to be remembered, TEAM reaches the workspaces above and beside this one, LOCAL only itself.`,
  )
}

/** A memory that may answer a question. */
export interface Candidate {
  readonly id: string
  readonly slot: number
  /** As stored: with a space between. */
  readonly words: string
  readonly createdAt: number
  /** The candidate right before it, where there is one. */
  readonly previousId: string | null
  /** The memory right before it, also where that is no candidate. */
  readonly beforeId: string | null
  /** Its conversation, in which an answer need not have a word of its question. */
  readonly conversation: string | null
}
