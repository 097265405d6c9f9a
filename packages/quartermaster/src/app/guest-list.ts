import { DEFAULT_ORGANISATION, messageOf } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import type { Organisation } from '../core/organisation/index.ts'
import type { StoreNews } from '../core/store/index.ts'

/** Which workspaces of the first organisation are there, known without asking the store: every request needs it. */
export interface GuestList {
  has(workspace: string): boolean
  /** Reads them anew where nothing is heard of what other processes do. Nothing to wait for elsewhere. */
  fresh(): Promise<void> | undefined
  /** Calls back when one is not there any more: whatever it has open must end. */
  onLeft(listener: () => void): void
  stop(): void
}

export interface GuestListDeps {
  readonly organisation: Pick<Organisation, 'workspaces' | 'events'>
  /** News of other processes; absent where none shares the store. */
  readonly news: StoreNews | undefined
  readonly log: Log
}

export async function createGuestList({ organisation, news, log }: GuestListDeps): Promise<GuestList> {
  const { workspaces, events } = organisation
  const listeners = new Set<() => void>()
  let there = await read()
  let changes = 0

  async function read(): Promise<Set<string>> {
    const rows = (await workspaces.tree(DEFAULT_ORGANISATION)).ordered()
    return new Set(rows.filter(({ status }) => status === 'active').map(({ workspace }) => workspace))
  }

  function left(): void {
    for (const listener of listeners) listener()
  }

  /** What was heard of while it was read is newer than what was read. */
  async function refresh(): Promise<void> {
    const before = changes
    const now = await read()
    if (changes !== before) return refresh()
    there = now
    left()
  }

  function lookAgain(): void {
    changes++
    refresh().catch(error => log.warn('who has a workspace could not be read', { error: messageOf(error) }))
  }

  const offs = [
    events.on('workspace.changed', ({ organisation: where, name, status }) => {
      if (where !== DEFAULT_ORGANISATION) return
      changes++
      if (status === 'active') there.add(name)
      else if (there.delete(name)) left()
    }),
    news?.listen({
      changed: rows => rows.some(({ table }) => table === 'workspaces') && lookAgain(),
      back: lookAgain,
    }),
  ]
  return {
    has: workspace => there.has(workspace),
    fresh: () => (news && !news.isHeard() ? refresh() : undefined),
    onLeft: listener => void listeners.add(listener),
    stop() {
      for (const off of offs) off?.()
    },
  }
}
