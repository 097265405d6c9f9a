import { DEFAULT_ORGANISATION, messageOf, type Problem } from '../../contracts/index.ts'
import type { RemoteAgents } from '../../core/agents/index.ts'
import type { Cancel, Clock, Log } from '../../core/kernel/index.ts'
import type { NamedPlace, Organisation } from '../../core/organisation/index.ts'
import type { ChangedRows, StoreNews } from '../../core/store/index.ts'
import type { Runtime } from './runtime.ts'

/** Keeps the workspaces of the folder's agents as the agents' files say. */
export interface WorkspaceSync {
  /** Resolves when everything read so far is written. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** Writes the agents of a runtime to the organisation, and emits the organisation's events on the runtime. */
export function syncWorkspaces(runtime: Runtime, organisation: Organisation, log: Log): WorkspaceSync {
  const { agents, emitter } = runtime.core
  let working: Promise<void> = Promise.resolve()
  let failure: unknown
  const offs = [
    emitter.on('agents.reloaded', () => {
      working = organisation.agentWorkspaces
        .follow(agents.placements())
        .then(() => {
          failure = undefined
        })
        .catch(error => {
          failure = error
          log.error('the places of the agents could not be written', { error: messageOf(error) })
        })
    }),
    organisation.events.on('workspace.changed', event => emitter.emit('workspace.changed', event)),
    organisation.events.on('presence.changed', event => emitter.emit('presence.changed', event)),
  ]
  runtime.addProblems(() => [...unwritten(failure), ...agentProblems(runtime, organisation)])
  return {
    settled: () => working,
    async stop() {
      for (const off of offs) off()
      await working
    },
  }
}

/** For a process without an `up`: the organisation, once the loaded agents have their workspaces. */
export async function syncWorkspacesOnce({ core }: Runtime, organisation: Organisation): Promise<Organisation> {
  await organisation.agentWorkspaces.follow(core.agents.placements())
  return organisation
}

/** Until they are written agents may be missing for others, or be where they were. */
function unwritten(failure: unknown): Problem[] {
  if (failure === undefined) return []
  const message = `The places of the agents could not be written: ${messageOf(failure)}`
  return [{ severity: 'error', code: 'AGENT_INVALID', where: 'agents', message, fix: 'Run quartermaster reload.' }]
}

function agentProblems({ core: { agents } }: Runtime, { agentWorkspaces }: Organisation): Problem[] {
  const problems = (severity: Problem['severity'], texts: ReadonlyMap<string, string>): Problem[] =>
    [...texts]
      .filter(([name]) => agents.has(name))
      .map(([name, message]) => ({
        severity,
        code: 'AGENT_INVALID',
        where: agents.entry(name).file,
        subject: `agent:${name}`,
        field: 'workspace',
        message,
      }))
  return [...problems('error', agentWorkspaces.problems()), ...problems('warning', agentWorkspaces.warnings())]
}

/** The active workspaces of all organisations, held in memory because every request needs them. */
export interface RemoteAgentList extends RemoteAgents {
  /** Reads the workspaces and follows their changes. The list is empty before. */
  open(source: RemoteAgentsSource): Promise<void>
  /** Reads one workspace again while no news of other processes arrives. `undefined` otherwise. */
  fresh(place: Pick<NamedPlace, 'organisation' | 'workspace'>): Promise<void> | undefined
  stop(): void
}

interface RemoteAgentsSource {
  readonly organisation: Pick<Organisation, 'places' | 'workspaces' | 'agentWorkspaces' | 'events'>
  /** News of other processes; absent where none shares the store. */
  readonly news: StoreNews | undefined
}

const RETRY_MS = 1_000
/** If more have changed at once, all are read. */
const MOST_IDS = 500

export function createRemoteAgentList(clock: Pick<Clock, 'after'>, log: Log): RemoteAgentList {
  const namesByOrganisation = new Map<string, Set<string>>()
  const listeners = new Set<() => void>()
  let source: RemoteAgentsSource | undefined
  let changes = 0
  let offs: readonly (Cancel | undefined)[] = []
  let cancelRetry: Cancel = () => {}

  function emitLeft(): void {
    for (const listener of listeners) listener()
  }

  /** Answers whether an agent has left. */
  function note({ organisation, workspace, status }: NamedPlace): boolean {
    const names = namesByOrganisation.get(organisation)
    if (status !== 'active') return names?.delete(workspace) ?? false
    if (names) names.add(workspace)
    else namesByOrganisation.set(organisation, new Set([workspace]))
    return false
  }

  /** An agent whose file was deleted is unknown at once, and no remote agent until its workspace is archived. */
  function isOfFolder(workspace: string): boolean {
    return source?.organisation.agentWorkspaces.isHeld(workspace) ?? false
  }

  /** Reads again if a change was noted meanwhile: that is newer than what was read. */
  async function readCurrent<T>(read: () => Promise<T>, take: (found: T) => void): Promise<void> {
    for (;;) {
      const before = changes
      const found = await read()
      if (changes === before) return take(found)
    }
  }

  function readSome({ organisation: { places } }: RemoteAgentsSource, ids: readonly string[]): Promise<void> {
    return readCurrent(
      () => places(ids),
      found => {
        // Notes all of them, also after the first that has left.
        if (found.filter(note).length > 0) emitLeft()
      },
    )
  }

  function readAll({ organisation: { places } }: RemoteAgentsSource): Promise<void> {
    return readCurrent(places, found => {
      namesByOrganisation.clear()
      for (const place of found) note(place)
      emitLeft()
    })
  }

  function readChanged(from: RemoteAgentsSource, ids: ChangedRows['ids']): void {
    changes++
    const reading = ids === 'any' || ids.length > MOST_IDS ? readAll(from) : readSome(from, ids)
    reading.catch(error => {
      log.warn('the workspaces could not be read; trying again', { error: messageOf(error) })
      cancelRetry()
      cancelRetry = clock.after(RETRY_MS, () => readChanged(from, 'any'))
    })
  }

  return {
    async open(from) {
      source = from
      const { organisation, news } = from
      offs = [
        organisation.events.on('workspace.changed', ({ name: workspace, ...place }) => {
          changes++
          if (note({ ...place, workspace })) emitLeft()
        }),
        news?.listen({
          changed(rows) {
            const changed = rows.find(({ table }) => table === 'workspaces')
            if (changed) readChanged(from, changed.ids)
          },
          back: () => readChanged(from, 'any'),
        }),
      ]
      await readAll(from)
    },
    has({ organisation, workspace }) {
      const isThere = namesByOrganisation.get(organisation)?.has(workspace) ?? false
      return isThere && !(organisation === DEFAULT_ORGANISATION && isOfFolder(workspace))
    },
    hasJoined: name => source?.organisation.agentWorkspaces.isTaken(name) ?? false,
    fresh({ organisation, workspace }) {
      if (!source?.news || source.news.isConnected()) return undefined
      const { workspaces } = source.organisation
      return readCurrent(
        () => workspaces.named(organisation, workspace),
        row => {
          if (note({ organisation, workspace, status: row?.status ?? 'archived' })) emitLeft()
        },
      )
    },
    onLeft: listener => void listeners.add(listener),
    stop() {
      cancelRetry()
      for (const off of offs) off?.()
    },
  }
}
