import type { GrantRow } from '../../contracts/index.ts'
import type { Store, Write } from '../../core/store/index.ts'
import type { Mistake } from './simulation.ts'

/** A mistake to plant for each seed, and the sentence by which the checker has to find it. */
export interface Planted {
  readonly shows: RegExp
  plant(): Mistake
}

type Update = Extract<Write, { kind: 'update' }>
type Fields = Readonly<Record<string, unknown>>

/** What a product with a fault of its own would do. Each has to be found, or the promise that it breaks is not looked at. */
export const MISTAKES: Readonly<Record<string, Planted>> = {
  'a run that somebody else has taken over can still end it': {
    shows: /when it was/,
    plant: () => onOperations(write => without(write, ['fence', 'state'])),
  },
  'what was taken back still counts': {
    shows: /nobody allowed it then/,
    plant: () => blindTo(() => true),
  },
  'what was allowed once cannot be taken back': {
    shows: /nobody allowed it then/,
    plant: () => blindTo(({ lasting }) => lasting === 'once'),
  },
  'what was allowed for a time never runs out': {
    shows: /nobody allowed it then/,
    plant: () => onInserts('grants', row => ({ ...row, expiresAt: Number(row.expiresAt) + 9e9 })),
  },
  'a no counts for nothing': {
    shows: /nobody allowed it then/,
    plant: () => onInserts('grants', row => ({ ...row, decision: 'allow' })),
  },
  'what may not be repeated is repeated': {
    shows: /was done \d times/,
    plant: () => onInserts('operations', row => ({ ...row, retry: 'replay' })),
  },
  'what can be looked at is not': {
    shows: /was done \d times/,
    plant: () => onOperations(write => withSet(write, 'sealedEffects' in write.set ? { sealedEffects: null } : {})),
  },
  'what may be done is said not to be': {
    shows: /was done, and is denied/,
    plant: () =>
      onOperations(write => withSet(write, (write.set as Fields).state === 'unknown' ? { state: 'denied' } : {})),
  },
  'keys are forgotten': {
    shows: /The key .* has/,
    plant: () => onInserts('operations', row => ({ ...row, idempotencyKey: null })),
  },
  'ends are not told': {
    shows: /was marked as told and was not|Nobody knows of the end/,
    plant: () => onOperations(write => withSet(write, { tellAt: null })),
  },
  'every end is told twice': { shows: /told/, plant: toldTwice },
  'who has the answer is told as well': {
    shows: /told to a caller who had got it|answered as well/,
    plant: () =>
      onOperations(write => withSet(write, isAnswered(write) ? { tellAt: (write.set as Fields).endedAt } : {})),
  },
  'an answer that nobody got counts as told': {
    shows: /was marked as told and was not/,
    plant: () =>
      onOperations(write =>
        withSet(write, isAnswered(write) ? { tellAt: null, announcedAt: (write.set as Fields).endedAt } : {}),
      ),
  },
  'what has failed for now is put off for ever': {
    shows: /never ended/,
    plant: () =>
      onOperations(write =>
        withSet(
          write,
          (write.set as Fields).state === 'queued' && 'dueAt' in write.set ? { dueAt: null, expiresAt: null } : {},
        ),
      ),
  },
  'the fence does not grow': {
    shows: /leased again under the fence|when it was/,
    plant: () =>
      onOperations(write => {
        const { fence: _fence, ...set } = write.set as Fields
        return { ...write, set } as Write
      }),
  },
  'leases last no time': {
    shows: /who held it|was done \d times|when it was/,
    plant: () => onOperations(write => withSet(write, 'leaseUntil' in write.set ? shortLease(write) : {})),
  },
  'the audit is not written': {
    shows: /the audit tells of 0/,
    plant: () => ({ bend: writes => writes.filter(({ table }) => table !== 'audit') }),
  },
  'the audit is written twice': {
    shows: /the audit tells of/,
    plant: () => ({ bend: writes => writes.flatMap(write => [write, ...againInAudit(write)]) }),
  },
  'what is still to be done is forgotten': {
    shows: /was forgotten before its end was told/,
    plant: forgetful,
  },
}

function onOperations(bend: (write: Update) => Write): Mistake {
  return {
    bend: writes =>
      writes.map(write => (write.kind === 'update' && write.table === 'operations' ? bend(write) : write)),
  }
}

function onInserts(table: Write['table'], bend: (row: Fields) => Fields): Mistake {
  return {
    bend: writes =>
      writes.map(write =>
        write.kind === 'insert' && write.table === table
          ? ({ ...write, row: bend(write.row as Fields) } as Write)
          : write,
      ),
  }
}

function without<W extends Write>(write: W, columns: readonly string[]): Write {
  if (write.kind === 'insert') return write
  const where = Object.fromEntries(Object.entries(write.where).filter(([column]) => !columns.includes(column)))
  return { ...write, where } as Write
}

function withSet(write: Update, set: Fields): Write {
  return { ...write, set: { ...write.set, ...set } } as Write
}

/** A read of valid rows also returns revoked ones. */
function blindTo(isMeant: (grant: GrantRow) => boolean): Mistake {
  return {
    bend: writes =>
      writes.map(write =>
        write.table === 'grants' && !('set' in write && isRevocation(write)) ? without(write, ['revokedAt']) : write,
      ),
    bendFind: find =>
      (async (table: string, query: { where?: Fields }) => {
        const isGate = table === 'grants' && query.where?.revokedAt === null && 'callerName' in query.where
        if (!isGate) return find(table as never, query as never)
        const { revokedAt: _revokedAt, ...where } = query.where ?? {}
        const rows = (await find('grants', { ...query, where, limit: 1_000 } as never)) as readonly GrantRow[]
        return rows.filter(row => row.revokedAt === null || isMeant(row)).map(row => ({ ...row, revokedAt: null }))
      }) as Store['find'],
  }
}

const isRevocation = ({ set }: { set: Fields }) => 'revokedAt' in set

/** The first mark of each is not set. */
function toldTwice(): Mistake {
  const seen = new Set<unknown>()
  return onOperations(write => {
    const { id } = write.where as Fields
    if (!('tellAt' in write.set) || 'state' in write.set || seen.has(id)) return write
    seen.add(id)
    const { tellAt: _tellAt, ...set } = write.set as Fields
    return { ...write, set } as Write
  })
}

/** Pruning old rows also removes the rest. */
function forgetful(): Mistake {
  return {
    bend: writes => writes.map(write => (write.kind === 'delete' ? onlyById(write) : write)),
    bendFind: find =>
      (async (table: string, query: { where?: Fields }) => {
        const isPruner = table === 'operations' && typeof query.where?.keepUntil === 'object'
        return find(table as never, (isPruner ? { ...query, where: {} } : query) as never)
      }) as Store['find'],
  }
}

function onlyById(write: Extract<Write, { kind: 'delete' }>): Write {
  const { id } = write.where as Fields
  return id === undefined ? write : ({ ...write, where: { id } } as Write)
}

/** An end that its caller is to get as the answer is told a while later, if that was lost. */
function isAnswered({ set }: Update): boolean {
  const { endedAt, tellAt } = set as Fields
  return typeof endedAt === 'number' && Number(tellAt) > endedAt
}

function shortLease({ set }: Update): Fields {
  const { leaseUntil } = set as Fields
  return typeof leaseUntil === 'number' ? { leaseUntil: leaseUntil - 30_000 } : {}
}

function againInAudit(write: Write): Write[] {
  if (write.kind !== 'insert' || write.table !== 'audit') return []
  return [1, 2].map(n => ({ ...write, row: { ...write.row, id: `${write.row.id}-${n}` } }) as Write)
}
