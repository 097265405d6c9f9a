import { DEFAULT_ORGANISATION, messageOf } from '../../contracts/index.ts'
import type { RemoteAgents } from '../../core/agents/index.ts'
import type { Cancel, Clock, Log } from '../../core/kernel/index.ts'
import type { NamedPlace, Organisation } from '../../core/organisation/index.ts'
import type { ChangedRows, StoreNews } from '../../core/store/index.ts'

/** Which workspaces of all organisations are there, known without asking the store: every request needs it. */
export interface RemoteAgentList extends RemoteAgents {
  /** Reads the workspaces, and follows their changes. The list is empty before. */
  open(source: RemoteAgentsSource): Promise<void>
  /** Reads one workspace again where no news of other processes arrive. `undefined` elsewhere. */
  fresh(place: Pick<NamedPlace, 'organisation' | 'workspace'>): Promise<void> | undefined
  stop(): void
}

interface RemoteAgentsSource {
  readonly organisation: Pick<Organisation, 'places' | 'workspaces' | 'agentWorkspaces' | 'events'>
  /** News of other processes; absent where none shares the store. */
  readonly news: StoreNews | undefined
}

/** A store that did not answer is asked again then. */
const PAUSE_MS = 1_000
/** Of more that have changed at once, all are read. */
const MOST_IDS = 500

export function createRemoteAgentList(clock: Pick<Clock, 'after'>, log: Log): RemoteAgentList {
  /** By organisation. */
  const there = new Map<string, Set<string>>()
  const listeners = new Set<() => void>()
  let source: RemoteAgentsSource | undefined
  let changes = 0
  let offs: readonly (Cancel | undefined)[] = []
  let cancelRetry: Cancel = () => {}

  function tellLeft(): void {
    for (const listener of listeners) listener()
  }

  /** Answers whether an agent has left. */
  function note({ organisation, workspace, status }: NamedPlace): boolean {
    const names = there.get(organisation)
    if (status !== 'active') return names?.delete(workspace) ?? false
    if (names) names.add(workspace)
    else there.set(organisation, new Set([workspace]))
    return false
  }

  /** An agent whose file is gone is unknown at once, and not a remote agent until its workspace is archived. */
  function isOfFolder(workspace: string): boolean {
    return source?.organisation.agentWorkspaces.isHeld(workspace) ?? false
  }

  /** What was heard of while it was read is newer than what was read. */
  async function whenCurrent<T>(read: () => Promise<T>, take: (found: T) => void): Promise<void> {
    for (;;) {
      const before = changes
      const found = await read()
      if (changes === before) return take(found)
    }
  }

  function readSome({ organisation: { places } }: RemoteAgentsSource, ids: readonly string[]): Promise<void> {
    return whenCurrent(
      () => places(ids),
      found => {
        // All are noted, also after the first that has left.
        if (found.filter(note).length > 0) tellLeft()
      },
    )
  }

  function readAll({ organisation: { places } }: RemoteAgentsSource): Promise<void> {
    return whenCurrent(places, found => {
      there.clear()
      for (const place of found) note(place)
      tellLeft()
    })
  }

  function lookAgain(from: RemoteAgentsSource, ids: ChangedRows['ids']): void {
    changes++
    const reading = ids === 'any' || ids.length > MOST_IDS ? readAll(from) : readSome(from, ids)
    reading.catch(error => {
      log.warn('who has a workspace could not be read and is tried again', { error: messageOf(error) })
      cancelRetry()
      cancelRetry = clock.after(PAUSE_MS, () => lookAgain(from, 'any'))
    })
  }

  return {
    async open(from) {
      source = from
      const { organisation, news } = from
      offs = [
        organisation.events.on('workspace.changed', ({ name: workspace, ...place }) => {
          changes++
          if (note({ ...place, workspace })) tellLeft()
        }),
        news?.listen({
          changed(rows) {
            const changed = rows.find(({ table }) => table === 'workspaces')
            if (changed) lookAgain(from, changed.ids)
          },
          back: () => lookAgain(from, 'any'),
        }),
      ]
      await readAll(from)
    },
    has({ organisation, workspace }) {
      const isThere = there.get(organisation)?.has(workspace) ?? false
      return isThere && !(organisation === DEFAULT_ORGANISATION && isOfFolder(workspace))
    },
    hasJoined: name => source?.organisation.agentWorkspaces.isTaken(name) ?? false,
    fresh({ organisation, workspace }) {
      if (!source?.news || source.news.isHeard()) return undefined
      const { workspaces } = source.organisation
      return whenCurrent(
        () => workspaces.named(organisation, workspace),
        row => {
          if (note({ organisation, workspace, status: row?.status ?? 'archived' })) tellLeft()
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
