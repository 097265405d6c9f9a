import type { AppError } from '../../contracts/index.ts'
import type { Group, SqlRow, Statement, StatementsOutcome } from '../storage-sql/index.ts'
import type { CommitGroup, CommitWork } from './committer.ts'
import { type ConnectionQueue, createConnectionQueue, type Waiting } from './connection-queue.ts'
import type { Connect, Connected } from './connector.ts'
import { isPassing, isStatementFault, toFault, unanswered, undone, unknownOutcome } from './errors.ts'
import type { Link } from './link.ts'

type CommitQueue = ConnectionQueue<CommitWork, StatementsOutcome>
export type ReadQueue = ConnectionQueue<Statement, readonly SqlRow[]>

interface QueueOptions {
  readonly connect: Connect
  readonly mostWaiting: number
  readonly patienceMs: number
  /** The error for a read that got no answer for too long. */
  readonly away: (error: unknown) => AppError
}

/** More would make the first of a group wait too long for the last. */
const LARGEST_GROUP = 512
/** A few are as fast as many: what is hot is read from memory, and the server has other clients. */
const MOST_READERS = 4
const STATEMENT_MS = 30_000

interface CommitQueueParts {
  /** The connection that made the database ready. */
  readonly first: Link
  readonly commitGroup: CommitGroup
  onGroup(group: Group): void
}

/** The one connection that commits. */
export function createCommitQueue(
  { connect, mostWaiting, patienceMs }: QueueOptions,
  { first, commitGroup, onGroup }: CommitQueueParts,
): CommitQueue {
  return createConnectionQueue({
    most: 1,
    largest: LARGEST_GROUP,
    mostWaiting,
    patienceMs,
    first,
    open: mayGoOn => connect({ prepare: limited, mayGoOn, isFirst: false }).then(linkOf),
    async serve(link, taken) {
      const startedAt = performance.now()
      const ends = await commitGroup(
        link,
        taken.map(({ work }) => work),
      )
      onGroup({ commits: taken.length, ms: performance.now() - startedAt })
      for (const [i, waiting] of taken.entries()) {
        const end = ends[i]
        if (end && 'outcome' in end) waiting.resolve(end.outcome)
        else if (end) waiting.reject(end.isUnknown ? unknownOutcome(end.fault) : undone(end.fault))
      }
      // A server that cannot write any more is looked up again.
      if (ends.some(end => 'fault' in end && isPassing(end.fault))) await link.close()
      return []
    },
  })
}

/** Connections that only read. A read that got no answer is asked again: it has changed nothing. */
export function createReadQueue({ connect, mostWaiting, patienceMs, away }: QueueOptions): ReadQueue {
  const nameOf = createNames()

  async function serveOne(link: Link, waiting: Waiting<Statement, readonly SqlRow[]>): Promise<boolean> {
    const { sql, parameters } = waiting.work
    try {
      waiting.resolve(await link.read({ sql, parameters, ...nameOf(sql) }))
    } catch (error) {
      if (isStatementFault(error)) waiting.reject(unanswered(toFault(error)))
      else if (performance.now() < waiting.until) return false
      else waiting.reject(away(error))
    }
    return true
  }

  return createConnectionQueue({
    most: MOST_READERS,
    largest: 1,
    mostWaiting,
    patienceMs,
    open: mayGoOn => connect({ prepare: limited, mayGoOn, isFirst: false }).then(linkOf),
    async serve(link, taken) {
      const [first] = taken
      return !first || (await serveOne(link, first)) ? [] : [first]
    },
  })
}

/** The server gives up on a statement in the end, so that nothing holds up everybody for ever. */
export const limited = ({ link }: Connected): Promise<void> => link.limit(STATEMENT_MS)

const linkOf = ({ link }: Connected): Link => link

const MOST_NAMES = 500

/** A statement that has been read before is prepared under a name; of too many the later ones are not. */
function createNames(): (sql: string) => { name?: string } {
  const known = new Map<string, { name: string }>()
  return sql => {
    const found = known.get(sql)
    if (found || known.size >= MOST_NAMES) return found ?? {}
    const named = { name: `r${known.size}` }
    known.set(sql, named)
    return named
  }
}
