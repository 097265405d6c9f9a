import { z } from 'zod'
import { AppError, Bytes, ROWS, type Table } from '../../contracts/index.ts'
import { unkeepable } from '../../core/store/index.ts'
import type { SqlValue } from './statement.ts'

export type ColumnKind = 'text' | 'integer' | 'real' | 'boolean' | 'json' | 'bytes'

/** A column, as the row's schema says it is. */
export interface Column {
  readonly table: Table
  /** In the row: `definitionHash`. */
  readonly name: string
  /** In the database: `definition_hash`. */
  readonly sqlName: string
  readonly kind: ColumnKind
  readonly isNullable: boolean
  /** What stands there when a new row says nothing; `undefined` when it has to. */
  readonly fallback: unknown
}

/** The columns of every table, in the order of the schema. */
export type Columns = Readonly<Record<Table, ReadonlyMap<string, Column>>>

/** Reads the columns from the rows' schemas, so that nobody writes them twice. */
export function readColumns(): Columns {
  const entries = Object.entries(ROWS).map(([table, row]) => [table, columnsOf(table as Table, row)])
  return Object.fromEntries(entries) as Columns
}

/** The column of this name. */
export function columnOf(columns: Columns, table: Table, name: string): Column {
  const column = columns[table].get(name)
  if (!column) throw new AppError('INTERNAL', `The table "${table}" has no column "${name}".`)
  return column
}

/**
 * The value as every database keeps it. A value that some database would refuse or change is refused here, so that
 * nothing works on one store and fails on another.
 */
export function encode(column: Column, value: unknown): SqlValue {
  if (value === null && column.isNullable) return null
  const encoded = ENCODERS[column.kind](value)
  if (encoded === undefined) throw unfit(column)
  return encoded
}

/** The value as it was before `encode`. */
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
  // PostgreSQL has no place for NUL, and half a surrogate pair comes back as something else.
  text: value => (typeof value === 'string' && !UNKEEPABLE.test(value) ? value : undefined),
  integer: value => (Number.isSafeInteger(value) ? (value as number) : undefined),
  real: value => (Number.isFinite(value) ? (value as number) : undefined),
  boolean: value => (typeof value === 'boolean' ? Number(value) : undefined),
  json: value => (value === undefined ? undefined : JSON.stringify(value)),
  bytes: value => (value instanceof Uint8Array ? alone(value) : undefined),
}

/** What goes to another thread takes all of its memory along, and a piece of a pool would take the pool. */
function alone(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.prototype.slice.call(bytes)
}

/** Some drivers give a class of their own, and a row is the same from all of them. */
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
