import { AppError } from '../../contracts/index.ts'
import { isRecord } from '../mcp-wire/index.ts'
import type { WorkspaceAddress } from './addresses.ts'
import type { WorkspaceFacts } from './remote.ts'
import type { Workspace } from './workspace.ts'

/** The workspaces of this client: what they are called, and which of them something belongs to. */
export interface Directory {
  readonly all: readonly Workspace[]
  /** What agents call it; no two are the same. */
  nameOf(workspace: Workspace): string
  /** The name as the beginning of other names: `company`. */
  slugOf(workspace: Workspace): string
  /** The name and id, for a text: `"company" (ws_8f2)`. */
  labelOf(workspace: Workspace): string
  /** The workspace with this id or name. Throws when there is none. */
  named(text: string): Workspace
  /** Why what a server says of its workspace cannot be, if so. */
  refuse(address: WorkspaceAddress, facts: WorkspaceFacts): string | undefined
  /** Keeps that these ids came from a workspace. */
  remember(workspace: Workspace, ids: Iterable<string>): void
  /** The workspaces from which any of these ids came. */
  ownersOf(ids: readonly string[]): readonly Workspace[]
  /** A message was handed to the agent. */
  handedOut(workspace: Workspace, activityId: string): void
  /** A message was answered or acknowledged. */
  settled(workspace: Workspace, activityId: string): void
  /**
   * The one workspace that is meant: the only candidate, or the one whose message the agent is answering. Throws with the list
   * when that is not clear.
   */
  expectOne(candidates: readonly Workspace[], parameter: string): Workspace
  /** Whether the agent has a message that it has not answered. */
  isHandling(): boolean
}

/** Of each workspace, so that a server that sends more than others pushes out only its own. */
const MOST_IDS = 5_000
const LONGEST_ID = 512
const MOST_HANDED = 100

export function createDirectory(all: readonly Workspace[]): Directory {
  const ids = new Map(all.map(workspace => [workspace, new Set<string>()]))
  const handed = new Map(all.map(workspace => [workspace, new Set<string>()]))

  /** Names that servers gave, as they were first told: a server cannot take the name of another later. */
  const given = new Map<Workspace, string>()

  function nameOf(workspace: Workspace): string {
    const { address, facts, index } = workspace
    const known = address.name ?? given.get(workspace)
    if (known !== undefined) return known
    const name = facts()?.name
    if (name === undefined) return `workspace-${index + 1}`
    const isTaken = all.some(other => isSame(other.address.name, name) || isSame(given.get(other), name))
    given.set(workspace, isTaken ? `${name}-${index + 1}` : name)
    return nameOf(workspace)
  }

  function slugOf(workspace: Workspace): string {
    const slug = nameOf(workspace)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^[^a-z]+|-+$/g, '')
      .slice(0, 16)
    const isTaken = slug === '' || all.some(other => other.index < workspace.index && slugOf(other) === slug)
    return isTaken ? `w${workspace.index + 1}${slug === '' ? '' : `-${slug}`}` : slug
  }

  function labelOf(workspace: Workspace): string {
    const id = workspace.facts()?.id
    return `"${nameOf(workspace)}"${id === undefined ? '' : ` (${id})`}`
  }

  const listOf = (some: readonly Workspace[]) => some.map(labelOf).join(', ')

  function keep(kept: Set<string> | undefined, id: string, most: number): void {
    kept?.delete(id)
    kept?.add(id)
    const [oldest] = kept ?? []
    if (kept && kept.size > most && oldest !== undefined) kept.delete(oldest)
  }

  /** The only workspace with a message that the agent has and has not answered. */
  function handling(): Workspace | undefined {
    const busy = all.filter(workspace => handed.get(workspace)?.size)
    return busy.length === 1 ? busy[0] : undefined
  }

  return {
    all,
    nameOf,
    slugOf,
    labelOf,
    named(text) {
      // What the person called them comes first: an id is what a server says.
      const found =
        all.find(({ address }) => isSame(address.name, text)) ??
        all.find(({ facts }) => facts()?.id === text) ??
        all.find(workspace => isSame(nameOf(workspace), text))
      if (found) return found
      const shown = JSON.stringify(text.slice(0, 100))
      throw new AppError('INPUT_INVALID', `${shown} is none of your workspaces. They are ${listOf(all)}.`)
    },
    refuse(address, { id }) {
      const others = all.filter(one => one.address !== address)
      const same = others.find(({ facts }) => facts()?.id === id)
      if (same) return `${same.address.source} and ${address.source} are the same workspace, ${id}. Remove one of them.`
      const named = others.find(one => isSame(nameOf(one), id))
      return (
        named && `${address.url} says that its workspace has the id "${id}", which is the name of another of yours.`
      )
    },
    remember(workspace, found) {
      for (const id of found) if (id.length <= LONGEST_ID) keep(ids.get(workspace), id, MOST_IDS)
    },
    ownersOf: wanted => all.filter(workspace => wanted.some(id => ids.get(workspace)?.has(id))),
    handedOut: (workspace, id) => keep(handed.get(workspace), id, MOST_HANDED),
    settled: (workspace, id) => void handed.get(workspace)?.delete(id),
    expectOne(candidates, parameter) {
      const [only, ...others] = candidates
      if (only && others.length === 0) return only
      const current = handling()
      if (current && (candidates.length === 0 || candidates.includes(current))) return current
      const among = candidates.length === 0 ? all : candidates
      throw new AppError(
        'INPUT_INVALID',
        `It is not clear which of your workspaces is meant. Nothing was done. Say it with ${parameter}: ${listOf(among)}.`,
      )
    },
    isHandling: () => [...handed.values()].some(ids => ids.size > 0),
  }
}

function isSame(one: string | undefined, other: string): boolean {
  return one !== undefined && one.toLowerCase() === other.toLowerCase()
}

/** Fields whose values name something of a workspace. */
const FIELDS: ReadonlySet<string> = new Set([
  'activity_id',
  'attachment_id',
  'id',
  'memory_id',
  'operationId',
  'peer_id',
  'quartermaster/next',
  'quartermaster/operationId',
  'requestState',
  'resultId',
  'taskId',
  'task_id',
  'uri',
  'workspace_id',
])

/** An answer of a hostile server may be of any depth and size. */
const DEEPEST = 8
const MOST_VALUES = 20_000

/** The ids in an answer, by which later requests find the workspace it came from. Peers are also known by their names. */
export function* idsIn(result: unknown): Generator<string> {
  let left = MOST_VALUES

  function* walk(value: unknown, depth: number): Generator<string> {
    if (depth > DEEPEST || left-- <= 0) return
    if (Array.isArray(value)) for (const one of value) yield* walk(one, depth + 1)
    else if (isRecord(value)) {
      if ('relation' in value && typeof value.name === 'string') yield value.name
      for (const [key, inner] of Object.entries(value)) {
        if (typeof inner !== 'string') yield* walk(inner, depth + 1)
        else if (FIELDS.has(key)) yield inner
      }
    }
  }

  yield* walk(result, 0)
}
