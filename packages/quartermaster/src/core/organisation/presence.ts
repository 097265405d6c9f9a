import {
  type AgentCard,
  messageOf,
  type Presence,
  type Settings,
  type Skill,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Cancel, type Clock, type Emitter, type Log } from '../kernel/index.ts'
import { allRows, type Store, update, type Write } from '../store/index.ts'
import { createExpiryWatch } from './token-events.ts'

/** Presence of workspaces. Heartbeats are kept in memory and written in batches: one commit each would be most of all commits. */
export interface PresenceBook {
  /** Restores workspaces that were present recently. */
  load(): Promise<void>
  /** Records a sign of life. */
  beat(row: WorkspaceRow): void
  /** Present while this runs: a client that waits for an answer sends nothing meanwhile. */
  during<T>(row: WorkspaceRow, work: () => Promise<T>): Promise<T>
  of(row: WorkspaceRow): Presence
  /** Announces a changed presence of a remote peer, found by its worker. */
  found(before: WorkspaceRow, now: WorkspaceRow): void
  /** When it was last heard of, in memory or in the store. */
  lastSeenAt(row: WorkspaceRow): number | null
  /** Seconds until the next expected heartbeat. */
  readonly nextWithinSeconds: number
  /** Writes what is pending and stops. */
  stop(): Promise<void>
}

interface PresenceDeps {
  readonly store: Store
  readonly clock: Clock
  readonly emitter: Pick<Emitter, 'emit'>
  readonly log: Log
  readonly settings: Pick<Settings, 'awaySeconds' | 'offlineSeconds'>
}

interface Seen {
  readonly organisation: string
  readonly name: string
  at: number
  announced: Presence
}

/** Other processes learn of a heartbeat with at most this delay. */
const WRITE_EVERY_MS = 10_000
/** Rows per commit. */
const BATCH = 200

export function createPresence({ store, clock, emitter, log, settings }: PresenceDeps): PresenceBook {
  const awayMs = settings.awaySeconds * 1_000
  const offlineMs = Math.max(settings.offlineSeconds * 1_000, awayMs)
  const seen = new Map<string, Seen>()
  const unwritten = new Set<string>()
  let timer: Cancel | undefined
  let writing: Promise<void> = Promise.resolve()
  const expiry = createExpiryWatch({ clock, onExpired: id => void checkSilence(id) })

  function stateAt(at: number | null): Presence {
    if (at === null) return 'offline'
    const silentMs = clock.now() - at
    if (silentMs < awayMs) return 'online'
    return silentMs < offlineMs ? 'away' : 'offline'
  }

  function lastSeenAt({ id, lastSeenAt: onRecord }: WorkspaceRow): number | null {
    const here = seen.get(id)?.at
    return here === undefined ? onRecord : Math.max(here, onRecord ?? 0)
  }

  function stateOf(row: WorkspaceRow): Presence {
    if (row.status !== 'active') return 'offline'
    // A remote peer sends no heartbeats: it is present if its card was available at the last check.
    if (row.origin === 'external') return row.registeredAt === null ? 'offline' : 'online'
    return stateAt(lastSeenAt(row))
  }

  function tell(id: string, one: Omit<Seen, 'at'>, from: Presence): void {
    const { organisation, name, announced: to } = one
    if (from !== to) emitter.emit('presence.changed', { organisation, id, name, from, to, at: Math.round(clock.now()) })
  }

  /** It has been silent here long enough to change state, unless another process has heard of it. */
  async function checkSilence(id: string): Promise<void> {
    // If the store does not answer, nothing newer is known.
    const row = await store.get('workspaces', id).catch(() => undefined)
    const one = seen.get(id)
    if (!one) return
    const from = one.announced
    one.at = Math.max(one.at, row?.lastSeenAt ?? 0)
    one.announced = stateAt(one.at)
    tell(id, one, from)
    if (one.announced !== 'offline') expiry.expect(id, one.at + (one.announced === 'online' ? awayMs : offlineMs))
    else if (!unwritten.has(id)) seen.delete(id)
  }

  async function write(): Promise<void> {
    const ids = [...unwritten].slice(0, BATCH)
    const writes = ids.flatMap(id => {
      const at = seen.get(id)?.at
      return at === undefined ? [] : seenWrites(id, at)
    })
    for (const id of ids) unwritten.delete(id)
    if (writes.length === 0) return
    try {
      await store.commit(writes)
    } catch (error) {
      // They stay in memory for the next batch.
      for (const id of ids) unwritten.add(id)
      return log.warn('heartbeats could not be written; they are tried again', { error: messageOf(error) })
    }
    if (unwritten.size > 0) await write()
  }

  function writeSoon(): void {
    timer ??= clock.after(WRITE_EVERY_MS, () => {
      timer = undefined
      writing = writing.then(write).then(() => {
        if (unwritten.size > 0) writeSoon()
      })
    })
  }

  function beat(row: WorkspaceRow): void {
    const { id, organisation, workspace: name } = row
    const at = Math.round(clock.now())
    const from = seen.get(id)?.announced ?? stateAt(row.lastSeenAt)
    const one: Seen = { organisation, name, at, announced: 'online' }
    seen.set(id, one)
    unwritten.add(id)
    expiry.expect(id, at + awayMs)
    writeSoon()
    tell(id, one, from)
  }

  /** Sends heartbeats now and regularly until cancelled. */
  function keepBeating(row: WorkspaceRow): Cancel {
    beat(row)
    let cancel = clock.after(awayMs / 3, again)
    function again(): void {
      beat(row)
      cancel = clock.after(awayMs / 3, again)
    }
    return () => cancel()
  }

  return {
    nextWithinSeconds: settings.awaySeconds / 3,
    async load() {
      const since = Math.round(clock.now() - offlineMs)
      // A remote agent sends no heartbeats, and its silence means nothing.
      const where = { lastSeenAt: { above: since }, origin: { not: 'external' } } as const
      for (const { id, organisation, workspace: name, lastSeenAt: at } of await allRows(store, 'workspaces', where)) {
        if (at === null || seen.has(id)) continue
        seen.set(id, { organisation, name, at, announced: stateAt(at) })
        expiry.expect(id, at + (stateAt(at) === 'online' ? awayMs : offlineMs))
      }
    },
    beat,
    async during(row, work) {
      const stop = keepBeating(row)
      try {
        return await work()
      } finally {
        stop()
      }
    },
    of: stateOf,
    found(before, now) {
      const { id, organisation, workspace: name } = now
      tell(id, { organisation, name, announced: stateOf(now) }, stateOf(before))
    },
    lastSeenAt,
    async stop() {
      timer?.()
      await writing
      await write()
      for (const id of seen.keys()) expiry.forget(id)
    },
  }
}

/** Another process may have heard of it later and written earlier. */
function seenWrites(id: string, at: number): readonly Write[] {
  return [null, { below: at }].map(lastSeenAt =>
    update('workspaces', { where: { id, lastSeenAt }, set: { lastSeenAt: at }, rows: 'any' }),
  )
}

export interface CardParts {
  /** Its abilities by its view; `undefined` for workspaces that are no agents of this project. */
  readonly skills: readonly Skill[] | undefined
  /** The base URL of this server. */
  readonly url: string
  /** The product version, for workspaces that report none. */
  readonly version: string
}

/** A workspace as others see it. Texts of the owner and of the workspace are passed on unchanged. */
export function cardOf(row: WorkspaceRow, parts: CardParts): AgentCard {
  const { workspace, card } = row
  return {
    name: workspace,
    description: descriptionOf(row),
    version: card?.version ?? parts.version,
    url: card?.url ?? parts.url,
    skills: skillsIn(parts.skills ?? [], card?.skills ?? []),
  }
}

/** The view is authoritative where both describe the same. */
function skillsIn(view: readonly Skill[], own: readonly Skill[]): Skill[] {
  const known = new Set(view.map(({ id }) => id))
  return [...view, ...own.filter(({ id }) => !known.has(id))]
}

/** What others can ask it for: its role and its description. */
function descriptionOf({ workspace, role, description, card }: WorkspaceRow): string {
  const words = description ?? card?.description ?? ''
  if (role === '') return words === '' ? `The workspace "${workspace}".` : words
  return words === '' ? role : `${role}${/\p{P}$/u.test(role) ? ' ' : '. '}${words}`
}
