import {
  DummyDriver,
  type ExpressionBuilder,
  type ExpressionWrapper,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  type SqlBool,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import { z } from 'zod'
import { AppError, Bytes, ROWS, type Table } from '../../contracts/index.ts'
import { type ChangedRows, type ComputedNumber, unkeepable } from '../../core/store/index.ts'

export type SqlValue = string | number | Uint8Array | null

export interface Statement {
  readonly sql: string
  readonly parameters: readonly SqlValue[]
}

/** A statement that fails its commit unless it affects the expected number of rows. */
export interface GuardedStatement extends Statement {
  /** Whether found rows are counted, instead of changed rows. */
  readonly finds: boolean
  readonly least: number
  readonly most: number
}

/** The rows of every statement, or the first statement whose guard failed, with its rows. */
export type StatementsOutcome =
  | { readonly done: true; readonly rows: readonly number[] }
  | { readonly done: false; readonly index: number; readonly rows: number }

/** A row as a driver returns it: values in column order. */
export type SqlRow = readonly SqlValue[]

/** A database driver. Neither method keeps a transaction open across an unrelated `await`. */
export interface SqlExecutor {
  /** Runs all statements in one synced transaction, or rolls back at the first failed guard. A shared database sends the news. */
  commit(statements: readonly GuardedStatement[], news?: readonly ChangedRows[]): Promise<StatementsOutcome>
  read(statement: Statement): Promise<readonly SqlRow[]>
}

export function unguarded(sql: string, parameters: readonly SqlValue[] = []): GuardedStatement {
  return { sql, parameters, finds: false, least: 0, most: Number.POSITIVE_INFINITY }
}

/** A statement before its SQL is written. Drafts of equal shape have equal SQL. */
export interface Draft {
  readonly shape: string
  readonly parameters: readonly SqlValue[]
  write(): { readonly sql: string; readonly parameters: readonly unknown[] }
}

/** Turns drafts into statements. Writing SQL costs ten times as much as running it, so each shape is written once. */
export type StatementCache = (draft: Draft) => Statement

/** Shapes come from code, so there are some dozens. More means that a list grew; the oldest are evicted. */
const MOST = 500

export function createStatementCache(): StatementCache {
  const known = new Map<string, string>()
  return draft => {
    const sql = known.get(draft.shape) ?? written(draft)
    if (!known.has(draft.shape)) remember(known, draft.shape, sql)
    return { sql, parameters: draft.parameters }
  }
}

/** Verifies once per shape that the parameters are in the order of the SQL. */
function written(draft: Draft): string {
  const { sql, parameters } = draft.write()
  const isSame = parameters.length === draft.parameters.length && parameters.every((p, i) => p === draft.parameters[i])
  if (!isSame) throw new Error(`The parameters of "${draft.shape}" are not in the order of its SQL.`)
  return sql
}

function remember(known: Map<string, string>, shape: string, sql: string): void {
  const [oldest] = known.keys()
  if (known.size >= MOST && oldest !== undefined) known.delete(oldest)
  known.set(shape, sql)
}

export type DialectName = 'sqlite' | 'postgres'

type SqlTables = { readonly [T in Table]: { readonly [column: string]: SqlValue } }

/** Writes SQL only; drivers run it, because they have to group and sync commits. */
export type SqlWriter = Kysely<SqlTables>

export function createSqlWriter(dialect: DialectName): SqlWriter {
  return new Kysely<SqlTables>({ dialect: DIALECTS[dialect] })
}

const DIALECTS = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
}

const OPERATORS = { below: '<', atMost: '<=', above: '>', atLeast: '>=', not: 'is distinct from' } as const
type Operator = '=' | 'is' | 'is not' | 'in' | 'other case' | (typeof OPERATORS)[keyof typeof OPERATORS]

interface SqlCondition {
  readonly column: Column
  readonly operator: Operator
  readonly values: readonly SqlValue[]
}

export function readConditions(columns: Columns, table: Table, where: object): readonly SqlCondition[] {
  return Object.entries(where).map(([name, condition]) => readCondition(columnOf(columns, table, name), condition))
}

/** Equal for conditions with equal SQL. */
export function shapeOf({ column, operator, values }: SqlCondition): string {
  return operator === 'in' ? `${column.name} in ${values.length}` : `${column.name} ${operator}`
}

export function parametersOf({ operator, values }: SqlCondition): readonly SqlValue[] {
  return operator === 'is' || operator === 'is not' ? [] : values
}

type Builder = ExpressionBuilder<SqlTables, Table>
type Bool = ExpressionWrapper<SqlTables, Table, SqlBool>

/** Joins conditions with "and"; true when there are none. */
export function allOf(conditions: readonly SqlCondition[]): (builder: Builder) => Bool {
  return builder => builder.and(conditions.map(condition => expression(builder, condition)))
}

function readCondition(column: Column, condition: unknown): SqlCondition {
  // An undefined value would otherwise mean "any", and change the wrong rows.
  if (condition === undefined) throw unclear(column)
  if (condition === null) return { column, operator: 'is', values: [null] }
  if (typeof condition !== 'object') return { column, operator: '=', values: [encode(column, condition)] }
  const [[word, value] = ['', undefined], ...more] = Object.entries(condition)
  if (more.length > 0) throw unclear(column)
  if (word === 'in' && Array.isArray(value)) return { column, operator: 'in', values: padded(column, value) }
  if (word === 'otherCaseOf' && typeof value === 'string')
    return { column, operator: 'other case', values: [value.toLowerCase(), value] }
  if (word === 'not' && value === null) return { column, operator: 'is not', values: [null] }
  if (!Object.hasOwn(OPERATORS, word)) throw unclear(column)
  return { column, operator: OPERATORS[word as keyof typeof OPERATORS], values: [encode(column, value)] }
}

/** Pads lists to a power of two by repeating the last value, so that few lengths need their own SQL. */
function padded(column: Column, list: readonly unknown[]): readonly SqlValue[] {
  const values = list.map(value => encode(column, value))
  const last = values.at(-1)
  if (last === undefined) return []
  const size = 2 ** Math.ceil(Math.log2(values.length))
  return [...values, ...Array.from({ length: size - values.length }, () => last)]
}

function expression(builder: Builder, { column, operator, values }: SqlCondition): Bool {
  if (operator === 'in' && values.length === 0) return builder(sql`1`, '=', sql`0`) as Bool
  if (operator === 'in') return builder(column.sqlName, 'in', values) as Bool
  if (operator === 'other case') return otherCase(builder, column, values)
  if (operator === 'is' || operator === 'is not') return builder(column.sqlName, operator, null) as Bool
  return builder(column.sqlName, operator, values[0] as SqlValue) as Bool
}

/** Scans the rows of the other conditions: there is no index for it. */
function otherCase(builder: Builder, { sqlName }: Column, [lower, value]: readonly SqlValue[]): Bool {
  return builder.and([
    builder(sql`lower(${sql.ref(sqlName)})`, '=', lower),
    builder(sqlName, '<>', value as SqlValue),
  ]) as Bool
}

function unclear({ table, name }: Column): AppError {
  return new AppError('INTERNAL', `The condition on "${table}.${name}" is none: give a value, null, or one comparison.`)
}

export type ColumnKind = 'text' | 'integer' | 'real' | 'boolean' | 'json' | 'bytes'

export interface Column {
  readonly table: Table
  /** The property of a row: `definitionHash`. */
  readonly name: string
  /** The column: `definition_hash`. */
  readonly sqlName: string
  readonly kind: ColumnKind
  readonly isNullable: boolean
  /** The default of a new row; `undefined` where a value is required. */
  readonly fallback: unknown
}

export type Columns = Readonly<Record<Table, ReadonlyMap<string, Column>>>

/** Derives the columns from the row schemas. */
export function readColumns(): Columns {
  const entries = Object.entries(ROWS).map(([table, row]) => [table, columnsOf(table as Table, row)])
  return Object.fromEntries(entries) as Columns
}

export function columnOf(columns: Columns, table: Table, name: string): Column {
  const column = columns[table].get(name)
  if (!column) throw new AppError('INTERNAL', `The table "${table}" has no column "${name}".`)
  return column
}

/** Encodes a value. What any supported database would reject or change is rejected here, so that all stores behave alike. */
export function encode(column: Column, value: unknown): SqlValue {
  if (value === null && column.isNullable) return null
  const encoded = ENCODERS[column.kind](value)
  if (encoded === undefined) throw unfit(column)
  return encoded
}

export function decode({ kind }: Column, value: SqlValue | undefined): unknown {
  if (value === null || value === undefined) return null
  if (value instanceof Uint8Array) return plain(value)
  if (kind === 'json') return JSON.parse(String(value))
  return kind === 'boolean' ? value === 1 : value
}

function columnsOf(table: Table, row: z.ZodObject): ReadonlyMap<string, Column> {
  return new Map(
    Object.entries(row.shape).map(([name, schema]) => [name, toColumn(table, name, schema as unknown as z.ZodType)]),
  )
}

function toColumn(table: Table, name: string, schema: z.ZodType): Column {
  return {
    table,
    name,
    sqlName: name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
    kind: kindOf(schema),
    isNullable: schema.safeParse(null).success,
    fallback: schema.safeParse(undefined).data,
  }
}

function kindOf(schema: z.ZodType): ColumnKind {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) return kindOf(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return 'text'
  if (schema instanceof z.ZodBoolean) return 'boolean'
  if (schema === Bytes) return 'bytes'
  if (schema instanceof z.ZodNumber) return schema.isInt ? 'integer' : 'real'
  return 'json'
}

const UNKEEPABLE = /[\0\p{Surrogate}]/u

const ENCODERS: Readonly<Record<ColumnKind, (value: unknown) => SqlValue | undefined>> = {
  // PostgreSQL cannot store NUL, and half a surrogate pair does not survive UTF-8.
  text: value => (typeof value === 'string' && !UNKEEPABLE.test(value) ? value : undefined),
  integer: value => (Number.isSafeInteger(value) ? (value as number) : undefined),
  real: value => (Number.isFinite(value) ? (value as number) : undefined),
  boolean: value => (typeof value === 'boolean' ? Number(value) : undefined),
  json: value => (value === undefined ? undefined : JSON.stringify(value)),
  bytes: value => (value instanceof Uint8Array ? alone(value) : undefined),
}

/** Copies a piece of a pooled buffer: sending it to another thread would send the whole pool. */
function alone(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.prototype.slice.call(bytes)
}

/** Some drivers return a subclass; rows are the same from all of them. */
function plain(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function unfit({ table, name, kind, isNullable }: Column): AppError {
  const expected = `${EXPECTED[kind]}${isNullable ? ' or null' : ''}`
  return unkeepable(`${table}.${name}`, `"${table}.${name}" takes ${expected}; it was given something else.`)
}

const EXPECTED: Readonly<Record<ColumnKind, string>> = {
  text: 'well-formed text without NUL',
  integer: 'a whole number',
  real: 'a finite number',
  boolean: 'true or false',
  json: 'what JSON can say',
  bytes: 'bytes',
}

/** A number of a new row that is computed inside its commit. */
interface FoundPlace {
  readonly name: string
  readonly shape: string
  readonly parameters: readonly SqlValue[]
  /** Takes its own parameters from the front of the list. */
  write(left: (SqlValue | undefined)[]): RawBuilder<number>
}

interface Numbered {
  readonly table: Table
  readonly row: object
  readonly found: ComputedNumber
}

export function foundNumber(columns: Columns, { table, row, found }: Numbered): FoundPlace {
  return found.by === 'copy' ? copied(columns, found) : next(columns, { table, row, found })
}

export function valueIn(row: object, { name, fallback }: Column): unknown {
  const value = (row as Record<string, unknown>)[name]
  return value === undefined ? fallback : value
}

function copied(columns: Columns, { column, from, id }: Extract<ComputedNumber, { by: 'copy' }>): FoundPlace {
  const name = sql.ref(columnOf(columns, from, column).sqlName)
  return {
    name: column,
    shape: `copy ${column} ${from}`,
    parameters: [id],
    write: left => sql`(select ${name} from ${sql.table(from)} where ${sql.ref('id')} = ${left.shift()})`,
  }
}

/** The maximum takes one step in the index that must exist for it. */
function next(
  columns: Columns,
  { table, row, found }: Numbered & { readonly found: Extract<ComputedNumber, { by: 'next' }> },
): FoundPlace {
  const shared = found.within.map(name => columnOf(columns, table, name))
  const highest = sql`coalesce(max(${sql.ref(columnOf(columns, table, found.column).sqlName)}), 0)`
  return {
    name: found.column,
    shape: `next ${found.column} ${found.within}`,
    parameters: shared.map(column => encode(column, valueIn(row, column))),
    write: left => {
      const same = shared.map(({ sqlName }) => sql`${sql.ref(sqlName)} = ${left.shift()}`)
      const where = same.length > 0 ? sql` where ${sql.join(same, sql` and `)}` : sql``
      return sql`(select ${highest} + 1 from ${sql.table(table)}${where})`
    },
  }
}
