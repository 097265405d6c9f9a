import { AppError } from '../../contracts/index.ts'
import { type CancelSignal, type Clock, createCancellation } from '../kernel/index.ts'

/** Whoever takes messages out of an inbox: one client of the workspace. */
export type Reader = string

/** The readers that are at an inbox here, or have something of one in hand. */
export interface Readers {
  /** Runs what a reader does at an inbox. Its signal is given when the one of the request is, and when the reader leaves. */
  during<T>(visit: Visit, work: (signal: CancelSignal) => Promise<T>): Promise<T>
  /** It is about to have something of this inbox in hand. */
  takes(reader: Reader, workspaceId: string): void
  /** Ends what a reader does. Answers the workspaces of whose messages it may have some, once all of that is over. */
  leave(reader: Reader): Promise<readonly string[]>
}

export interface Visit {
  readonly reader: Reader
  readonly signal?: CancelSignal | undefined
}

export interface ReadersDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly leaseMs: number
}

interface Known {
  /** When the last lease of each is over. */
  readonly until: Map<string, number>
  readonly visits: Set<{ readonly over: Promise<unknown>; end(): void }>
}

/** With more of them, those are forgotten whose leases are over: clients of many kinds never say that they leave. */
const MANY = 1_000

const LONGEST_READER = 200

/** The reader that a client is. */
export function readerOf(client: string): Reader {
  return client.slice(0, LONGEST_READER)
}

/** Sessions and lent tokens live in the memory of one process; every other reader may come back after a restart. */
const ENDS_WITH_PROCESS = /(?:^| )(?:run|session)_/

/** The name under which this process leases messages for a reader: with the process in it where the reader ends with that. */
export function leaseOwnerOf(reader: Reader, process: string): string {
  return ENDS_WITH_PROCESS.test(reader) ? `${reader} ${process}` : reader
}

/** Whether the reader that holds this lease cannot come back: its process does not run. */
export function isLeaseOrphaned(leaseOwner: string, running: ReadonlySet<string>): boolean {
  return ENDS_WITH_PROCESS.test(leaseOwner) && !running.has(leaseOwner.slice(leaseOwner.lastIndexOf(' ') + 1))
}

export function createReaders({ clock, leaseMs }: ReadersDeps): Readers {
  const readers = new Map<Reader, Known>()

  function forgetOld(): void {
    const now = clock.now()
    for (const [reader, { until, visits }] of readers)
      if (visits.size === 0 && [...until.values()].every(at => at <= now)) readers.delete(reader)
  }

  function knownAs(reader: Reader): Known {
    const known = readers.get(reader)
    if (known) return known
    if (readers.size >= MANY) forgetOld()
    const made: Known = { until: new Map(), visits: new Set() }
    readers.set(reader, made)
    return made
  }

  return {
    async during({ reader, signal }, work) {
      const { visits } = knownAs(reader)
      const { signal: ours, cancel } = createCancellation()
      const end = () => cancel(new AppError('CANCELLED', 'Whoever read has left.'))
      if (signal?.aborted) end()
      signal?.addEventListener('abort', end)
      const over = work(ours)
      const visit = { over, end }
      visits.add(visit)
      try {
        return await over
      } finally {
        visits.delete(visit)
        signal?.removeEventListener('abort', end)
      }
    },
    takes: (reader, workspaceId) => void knownAs(reader).until.set(workspaceId, clock.now() + leaseMs),
    async leave(reader) {
      const known = readers.get(reader)
      if (!known) return []
      for (const { end } of known.visits) end()
      // One that was about to get something has got it by then.
      await Promise.allSettled([...known.visits].map(({ over }) => over))
      readers.delete(reader)
      return [...known.until.keys()]
    },
  }
}
