import { createSealer } from '../adapters/sealing/index.ts'
import { AppError, type NewRow, ROWS, type Row, type Table } from '../contracts/index.ts'
import type { StorageAccess } from '../core/operations/index.ts'
import { type CommitOutcome, type Query, type Store, unkeepable, type Write } from '../core/store/index.ts'
import { createWordSearch } from './memory-words.ts'

type AnyRow = Record<string, unknown> & { id: string }
type Tables = Record<Table, Map<string, AnyRow>>

/** A store that lives as long as its test. Rows are checked against their schemas, more strictly than a database can. */
export function createMemoryStore(): Store {
  let tables = Object.fromEntries(Object.keys(ROWS).map(name => [name, new Map()])) as Tables
  return {
    async commit(writes) {
      const next = copyOf(tables, writes)
      const rows: number[] = []
      for (const [index, write] of writes.entries()) {
        const count = apply(next, write)
        if (!isExpected(write, count)) return refused(index, write, count)
        rows.push(count)
      }
      tables = next
      return { committed: true, rows }
    },
    async get(table, id) {
      const row = tables[table].get(id)
      return row && (copyOfRow(row) as Row<typeof table>)
    },
    find: async (table, query) => select(tables[table], query as Query<Table>) as never,
    count: async (table, where = {}) => [...tables[table].values()].filter(row => matches(row, where)).length,
    words: createWordSearch(() => [...tables.memories.values()] as unknown as Row<'memories'>[]),
  }
}

/** A store in memory that is open, with a key of its own. */
export function memoryStorage(): StorageAccess & { readonly store: Store } {
  const storage = { store: createMemoryStore(), sealer: createSealer({ key: new Uint8Array(32) }) }
  return { open: async () => storage, current: () => storage, store: storage.store }
}

/** Of the tables that are written to. */
function copyOf(tables: Tables, writes: readonly Write[]): Tables {
  const written = new Set(writes.map(({ table }) => table))
  return { ...tables, ...Object.fromEntries([...written].map(name => [name, new Map(tables[name])])) }
}

/** Answers how many rows it touched or found. */
function apply(tables: Tables, write: Write): number {
  const rows = tables[write.table]
  if (write.kind === 'insert') return add(rows, write.table, withNumber(tables, write))
  const found = [...rows.values()].filter(row => matches(row, write.where))
  for (const row of found) {
    if (write.kind === 'update') rows.set(row.id, checked(write.table, { ...row, ...write.set }))
    if (write.kind === 'delete') rows.delete(row.id)
  }
  return found.length
}

/** The row with the number that is found inside its commit. */
function withNumber(tables: Tables, { table, row, found }: Extract<Write, { kind: 'insert' }>): NewRow<Table> {
  if (!found) return row
  if (found.by === 'copy')
    return { ...row, [found.column]: tables[found.from].get(found.id)?.[found.column] } as NewRow<Table>
  const given = row as Record<string, unknown>
  const same = [...tables[table].values()].filter(other => found.within.every(name => other[name] === given[name]))
  const highest = Math.max(0, ...same.map(other => Number(other[found.column])))
  return { ...row, [found.column]: highest + 1 } as NewRow<Table>
}

function add(rows: Map<string, AnyRow>, table: Table, given: NewRow<Table>): number {
  const row = checked(table, given)
  if (rows.has(row.id) || isTaken(rows, table, row)) return 0
  rows.set(row.id, row)
  return 1
}

/** Columns that no two rows may share. */
const UNIQUE: Record<Table, readonly string[]> = {
  tokens: ['hash'],
  operations: ['organisation', 'workspace', 'callerKind', 'callerName', 'tool', 'idempotencyKey'],
  results: [],
  audit: [],
  approvals: [],
  grants: [],
  secrets: ['organisation', 'workspace', 'name'],
  upstreams: ['organisation', 'workspace', 'name'],
  pins: [],
  nodes: [],
  organisations: ['organisation'],
  workspaces: ['organisation', 'workspace'],
  persons: ['organisation', 'workspace'],
  joincodes: ['hash'],
  activity: ['sentKey'],
  inbox: [],
  attachments: [],
  blobs: ['organisation', 'sha256'],
  chunks: [],
  attachmentuses: [],
  memories: ['shelf', 'digest'],
  delegations: ['askKey'],
  seats: ['organisation', 'workspace', 'folder'],
  leases: [],
  externalpeers: [],
  outgoingtasks: [],
}

function isTaken(rows: Map<string, AnyRow>, table: Table, row: AnyRow): boolean {
  const columns = UNIQUE[table]
  if (columns.length === 0 || columns.some(column => row[column] === null)) return false
  for (const other of rows.values()) if (columns.every(column => row[column] === other[column])) return true
  return false
}

const UNKEEPABLE = /[\0\p{Surrogate}]/u

function checked(table: Table, given: unknown): AnyRow {
  const parsed = ROWS[table].safeParse(given)
  const place = parsed.success
    ? Object.entries(parsed.data).find(([, value]) => typeof value === 'string' && UNKEEPABLE.test(value))?.[0]
    : parsed.error.issues[0]?.path.join('.')
  if (place !== undefined || !parsed.success)
    throw unkeepable(`${table}.${place}`, `"${table}.${place}" cannot be kept.`)
  return copyOfRow(parsed.data as AnyRow)
}

function copyOfRow(row: AnyRow): AnyRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, copied(value)])) as AnyRow
}

/** As a database gives it back: bytes as such, everything else as JSON. */
function copied(value: unknown): unknown {
  if (typeof value === 'string' || value === null) return value
  return value instanceof Uint8Array ? new Uint8Array(value) : JSON.parse(JSON.stringify(value))
}

function isExpected(write: Write, count: number): boolean {
  if (write.kind === 'mustExist') return count > 0
  if (write.kind === 'mustNotExist') return count === 0
  const rows = 'rows' in write ? (write.rows ?? 1) : 1
  return rows === 'any' || rows === count
}

function refused(index: number, { kind, table, guard }: Write, rows: number): CommitOutcome {
  const failed = { index, kind, table, rows: kind === 'mustExist' ? 0 : rows }
  return { committed: false, failed: guard === undefined ? failed : { ...failed, guard } }
}

function matches(row: AnyRow, where: object): boolean {
  return Object.entries(where).every(([column, condition]) => holds(row[column], condition))
}

type Plain = string | number

function holds(value: unknown, condition: unknown): boolean {
  if (condition === undefined) throw new AppError('INTERNAL', 'A condition that was left open.')
  if (typeof condition !== 'object' || condition === null) return value === condition
  const [[word, wanted] = ['', undefined]] = Object.entries(condition)
  if (word === 'in') return (wanted as unknown[]).includes(value)
  if (word === 'not') return value !== wanted
  if (value === null) return false
  if (word === 'otherCaseOf') return value !== wanted && String(value).toLowerCase() === String(wanted).toLowerCase()
  const order = compare(value as Plain, wanted as Plain)
  return { below: order < 0, atMost: order <= 0, above: order > 0, atLeast: order >= 0 }[word] ?? false
}

function compare(a: Plain, b: Plain): number {
  return a < b ? -1 : Number(a > b)
}

function select(rows: Map<string, AnyRow>, query: Query<Table>): unknown[] {
  const { where = {}, order, after, limit = 100, columns } = query
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw new AppError('INTERNAL', 'A page of that size.')
  const by = (order?.by ?? []) as readonly string[]
  const sign = order?.direction === 'descending' ? -1 : 1
  const placeOf = (row: AnyRow) => by.map(column => row[column] as Plain)
  const found = [...rows.values()].filter(row => matches(row, where))
  const sorted = found.toSorted((a, b) => sign * compareAll(placeOf(a), placeOf(b)))
  const rest = after ? sorted.filter(row => sign * compareAll(placeOf(row), after) > 0) : sorted
  return rest.slice(0, limit).map(row => copyOfRow(columns ? pick(row, columns) : row))
}

function compareAll(a: readonly Plain[], b: readonly Plain[]): number {
  for (const [i, value] of a.entries()) {
    const order = compare(value, b[i] as Plain)
    if (order !== 0) return order
  }
  return 0
}

function pick(row: AnyRow, columns: readonly string[]): AnyRow {
  return Object.fromEntries(columns.map(column => [column, row[column]])) as AnyRow
}
