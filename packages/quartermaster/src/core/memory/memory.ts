import {
  AppError,
  type CommittedMemory,
  type ForgottenMemory,
  type MEMORY_ROUTES,
  type MemoryFacts,
  type MemoryPage,
  type MemoryRow,
  type MemoryService,
  type MemoryUpdate,
  type MemoryWish,
  type RecalledMemory,
  type RecallWish,
  TOOL_NAMES,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, type Digest, escapeLine, type Ids } from '../kernel/index.ts'
import { type ApiCaller, type Handlers, isNamed, type Organisation, workspaceOf } from '../organisation/index.ts'
import { type Store } from '../store/index.ts'
import { createRecall } from './recall.ts'
import { createMemoryWords } from './words.ts'
import { type Author, createMemoryScopes, createMemoryWriter, type MemorySettings, memoryFacts } from './write.ts'

/** The memories of workspaces. No answer tells a workspace whether a memory that it may not read exists. */
export interface Memory {
  commit(author: Author, wish: MemoryWish): Promise<CommittedMemory>
  /** Throws `NAME_UNKNOWN`, `REQUEST_REFUSED` for the memory of another workspace, or `EDIT_CONFLICT` when it changed meanwhile. */
  update(author: Author, id: string, wish: MemoryUpdate): Promise<CommittedMemory>
  forget(workspace: WorkspaceRow, id: string): Promise<ForgottenMemory>
  /** Forgets any memory of the organisation: for its owner. */
  forgetAny(organisation: string, id: string): Promise<ForgottenMemory>
  show(workspace: WorkspaceRow, id: string): Promise<MemoryFacts>
  showAny(organisation: string, id: string): Promise<MemoryFacts>
  /** All memories of the organisation, newest first: for its owner. */
  listAny(organisation: string, wish: Omit<RecallWish, 'query'>): Promise<MemoryPage>
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
  const scopes = createMemoryScopes(digest)
  const words = createMemoryWords()
  const writer = createMemoryWriter({ store, clock, ids, digest, scopes, words, settings })
  const recall = createRecall({ store, clock, digest, words })

  async function ofOrganisation(organisation: string, id: string): Promise<MemoryRow | undefined> {
    const row = ID.test(id) ? await store.get('memories', id) : undefined
    return row?.organisation === organisation ? row : undefined
  }

  async function readable(workspace: WorkspaceRow, id: string): Promise<MemoryRow | undefined> {
    const row = await ofOrganisation(workspace.organisation, id)
    return row && scopes.readable(workspace).includes(row.shelf) ? row : undefined
  }

  async function forget(row: MemoryRow | undefined, id: string): Promise<ForgottenMemory> {
    return { id, forgotten: row !== undefined && (await writer.forget(row)) }
  }

  /** A workspace may forget what it wrote, what belongs to the team it leads, and GLOBAL memories if it may write them. */
  function expectForgettable(workspace: WorkspaceRow, row: MemoryRow): void {
    if (row.scope === 'GLOBAL') return void scopes.writable(workspace, 'GLOBAL')
    if (row.workspaceId === workspace.id || row.shelf === scopes.led(workspace)) return
    throw new AppError(
      'REQUEST_REFUSED',
      `"${row.id}" was written by "${row.workspace}": only it and the workspace above it may forget it.`,
    )
  }

  return {
    commit: writer.keep,
    async update(author, id, wish) {
      return writer.change(author, expectFound(await readable(author.workspace, id), id), wish)
    },
    async forget(workspace, id) {
      const row = await readable(workspace, id)
      if (row) expectForgettable(workspace, row)
      return forget(row, id)
    },
    forgetAny: async (organisation, id) => forget(await ofOrganisation(organisation, id), id),
    show: async (workspace, id) => memoryFacts(expectFound(await readable(workspace, id), id)),
    showAny: async (organisation, id) => memoryFacts(expectFound(await ofOrganisation(organisation, id), id)),
    listAny: recall.list,
    recall: (workspace, wish) =>
      recall.search({ organisation: workspace.organisation, scopes: scopes.readable(workspace, wish.scope) }, wish),
  }
}

const ID = /^[\w-]{1,128}$/

function expectFound(row: MemoryRow | undefined, id: string): MemoryRow {
  if (row) return row
  throw new AppError(
    'NAME_UNKNOWN',
    `There is no memory "${id.slice(0, 128)}" that can be read here. Recall lists what there is.`,
  )
}

export interface MemoryHandlersDeps {
  readonly memory: Memory
  readonly organisation: Pick<Organisation, 'workspaces'>
}

/** The handlers of the API for memories. */
export function memoryHandlers({ memory, organisation }: MemoryHandlersDeps): Handlers<keyof typeof MEMORY_ROUTES> {
  /** The workspace a caller reads as: an agent as its own, a person as the one named in the request. */
  function readingWorkspace(caller: ApiCaller, workspaceId: string | undefined): Promise<WorkspaceRow> | WorkspaceRow {
    if (caller.kind === 'workspace') return ownWorkspace(caller.workspace, workspaceId)
    if (workspaceId !== undefined) return organisation.workspaces.pick(caller.organisation, workspaceId)
    throw new AppError('INPUT_INVALID', 'Say as which workspace you read: ?workspaceId=, its id or its name.')
  }

  return {
    async listMemories(caller, { query: { workspaceId, query, scope, limit, cursor } }) {
      return memory.recall(await readingWorkspace(caller, workspaceId), { query, scope, limit, cursor })
    },
    commitMemory: async ({ workspace }, { body }) => memory.commit({ workspace }, body),
    showMemory: async (caller, { params: { id } }) =>
      caller.kind === 'workspace' ? memory.show(caller.workspace, id) : memory.showAny(caller.organisation, id),
    changeMemory: async ({ workspace }, { params: { id }, body }) => memory.update({ workspace }, id, body),
    forgetMemory: async (caller, { params: { id } }) =>
      caller.kind === 'workspace' ? memory.forget(caller.workspace, id) : memory.forgetAny(caller.organisation, id),
  }
}

/** Refuses the name of another workspace, because the caller would expect to read as that one. */
function ownWorkspace(workspace: WorkspaceRow, named: string | undefined): WorkspaceRow {
  if (named === undefined || isNamed(workspace, named)) return workspace
  throw new AppError('NAME_UNKNOWN', 'A workspace reads as itself. Leave workspaceId out.')
}

/** Memory for the tools of an agent, on behalf of its workspace. */
export function createMemoryService(memory: Memory, organisation: Organisation): MemoryService {
  const remembered = createRemembered(memory)
  return {
    async commit(actor, { memoryId, ...wish }) {
      const author = { workspace: await workspaceOf(organisation, actor), operationId: actor.operationId }
      return memoryId === undefined ? memory.commit(author, wish) : memory.update(author, memoryId, wish)
    },
    recall: async (actor, wish) => memory.recall(await workspaceOf(organisation, actor), wish),
    forget: async (actor, id) => memory.forget(await workspaceOf(organisation, actor), id),
    remembered: async of => remembered(await workspaceOf(organisation, of)),
  }
}

/** The memories shown at the start of a session; `undefined` when there are none. */
type Remembered = (workspace: WorkspaceRow) => Promise<string | undefined>

/** Every session pays for these tokens. */
export const MOST_CHARACTERS = 2_000
const LONGEST_ROW = 300
/** How many that fit the role of the workspace come before the newest. */
const FITTING = 5
const NEWEST = 20

const HEAD = `What agents of this organisation remembered: first what fits this workspace, then the newest. ${TOOL_NAMES.recall} finds more.`

export function createRemembered(memory: Pick<Memory, 'recall'>): Remembered {
  return async workspace => {
    const about = [workspace.role, workspace.description ?? ''].join(' ').trim()
    const [fitting, newest] = await Promise.all([
      about === '' ? [] : memory.recall(workspace, { query: about, limit: FITTING }).then(({ memories }) => memories),
      memory.recall(workspace, { limit: NEWEST }).then(({ memories }) => memories),
    ])
    const rows = [...new Map([...fitting, ...newest].map(row => [row.id, row])).values()]
    return rows.length === 0 ? undefined : bounded(rows.map(lineOf))
  }
}

function lineOf({ scope, content, provenance }: RecalledMemory): string {
  const day = new Date(provenance.updatedAt).toISOString().slice(0, 10)
  return `> [${scope}, by ${provenance.workspaceName}, ${day}] "${escapedBeginning(content)}"`
}

/** The beginning of a memory, escaped so that it cannot end its line or quotation marks. */
function escapedBeginning(content: string): string {
  let text = ''
  for (const character of content) {
    const next = escapeLine(JSON.stringify(character).slice(1, -1))
    if (text.length + next.length > LONGEST_ROW) return `${text}…`
    text += next
  }
  return text
}

function bounded(lines: readonly string[]): string {
  return lines.reduce((text, line) => (text.length + line.length < MOST_CHARACTERS ? `${text}\n${line}` : text), HEAD)
}
