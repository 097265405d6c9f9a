import { sql } from 'kysely'
import { AppError, type Row, type Table } from '../../contracts/index.ts'
import type { Query, Where } from '../../core/store/index.ts'
import { type Column, type Columns, columnOf, decode, encode } from './columns.ts'
import { allOf, parametersOf, readConditions, shapeOf } from './conditions.ts'
import type { SqlWriter } from './dialect.ts'
import type { SqlRow, SqlValue, Statement } from './statement.ts'
import type { StatementCache } from './statement-cache.ts'

const USUAL_LIMIT = 100
const MOST_ROWS = 1_000

/** A statement, and how a row that it gives is read. */
export interface ReadStatement {
  readonly statement: Statement
  toRow(values: SqlRow): Record<string, unknown>
}

export interface ReadStatements {
  find<T extends Table, C extends keyof Row<T>>(table: T, query: Query<T, C>): ReadStatement
  count<T extends Table>(table: T, where: Where<T>): Statement
}

/** Turns queries into statements. */
export function createReadStatements(deps: {
  readonly writer: SqlWriter
  readonly columns: Columns
  readonly cache: StatementCache
}): ReadStatements {
  const { writer, columns, cache } = deps
  return {
    find(name, query) {
      const table: Table = name
      const wanted = wantedColumns(columns, table, query.columns)
      const conditions = readConditions(columns, table, query.where ?? {})
      const order = (query.order?.by ?? []).map(column => columnOf(columns, table, String(column)))
      const direction = query.order?.direction === 'descending' ? 'desc' : 'asc'
      const after = place(order, query.after)
      const limit = limitOf(query.limit)
      const statement = cache({
        shape: `find ${table} ${wanted.map(c => c.name)} where ${conditions.map(shapeOf)} by ${order.map(c => c.name)} ${direction} after ${after.length}`,
        parameters: [...conditions.flatMap(parametersOf), ...after, limit],
        write: () => {
          let select = writer
            .selectFrom(table)
            .select(wanted.map(column => column.sqlName))
            .where(allOf(conditions))
          if (after.length > 0) select = select.where(isBehind(order, after, direction))
          for (const column of order) select = select.orderBy(column.sqlName, direction)
          return select.limit(limit).compile()
        },
      })
      return { statement, toRow: values => toRow(wanted, values) }
    },
    count(name, where) {
      const table: Table = name
      const conditions = readConditions(columns, table, where)
      return cache({
        shape: `count ${table} where ${conditions.map(shapeOf)}`,
        parameters: conditions.flatMap(parametersOf),
        write: () =>
          writer
            .selectFrom(table)
            .select(({ fn }) => fn.countAll<number>().as('rows'))
            .where(allOf(conditions))
            .compile(),
      })
    },
  }
}

function wantedColumns(columns: Columns, table: Table, names: readonly PropertyKey[] | undefined): readonly Column[] {
  return names ? names.map(name => columnOf(columns, table, String(name))) : [...columns[table].values()]
}

function place(order: readonly Column[], after: readonly (string | number)[] | undefined): readonly SqlValue[] {
  if (!after) return []
  if (after.length !== order.length || after.length === 0) {
    throw new AppError('INTERNAL', 'A place to go on from has one value for each column of the order.')
  }
  return order.map((column, i) => encode(column, after[i]))
}

function isBehind(order: readonly Column[], after: readonly SqlValue[], direction: 'asc' | 'desc') {
  const names = sql.join(order.map(column => sql.ref(column.sqlName)))
  const operator = sql.raw(direction === 'asc' ? '>' : '<')
  return sql<boolean>`(${names}) ${operator} (${sql.join(after)})`
}

function limitOf(limit = USUAL_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_ROWS) return limit
  throw new AppError('INTERNAL', `A page has 1 to ${MOST_ROWS} rows, not ${limit}.`)
}

function toRow(wanted: readonly Column[], values: SqlRow): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const [i, column] of wanted.entries()) row[column.name] = decode(column, values[i])
  return row
}
