import { sql } from 'kysely'
import { AppError, type Row, type Table } from '../../contracts/index.ts'
import type { Query, Where, Write } from '../../core/store/index.ts'
import {
  allOf,
  type Column,
  type Columns,
  columnOf,
  type Draft,
  decode,
  encode,
  foundNumber,
  type GuardedStatement,
  parametersOf,
  readConditions,
  type SqlRow,
  type SqlValue,
  type SqlWriter,
  type Statement,
  type StatementCache,
  shapeOf,
  valueIn,
} from './statements.ts'

const USUAL_LIMIT = 100
const MOST_ROWS = 1_000

interface ReadStatement {
  readonly statement: Statement
  toRow(values: SqlRow): Record<string, unknown>
}

interface ReadStatements {
  find<T extends Table, C extends keyof Row<T>>(table: T, query: Query<T, C>): ReadStatement
  count<T extends Table>(table: T, where: Where<T>): Statement
}

/** Converts queries to statements. */
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

type Kind<K extends Write['kind']> = Extract<Write, { kind: K }>

/** Converts writes to guarded statements. */
export function createWriteStatements(deps: {
  readonly writer: SqlWriter
  readonly columns: Columns
  readonly cache: StatementCache
}): (write: Write) => GuardedStatement {
  const { writer, columns, cache } = deps

  function insertion({ table, row, found }: Kind<'insert'>): Draft {
    const values: SqlValue[] = []
    const place = found && foundNumber(columns, { table, row, found })
    for (const column of columns[table].values()) {
      if (place?.name === column.name) values.push(...place.parameters)
      else values.push(encode(column, valueIn(row, column)))
    }
    return {
      shape: place ? `insert ${table} ${place.shape}` : `insert ${table}`,
      parameters: values,
      write: () => {
        const left = [...values]
        const entries = [...columns[table].values()].map(({ name, sqlName }) => [
          sqlName,
          place?.name === name ? place.write(left) : left.shift(),
        ])
        return writer
          .insertInto(table)
          .values(Object.fromEntries(entries))
          .onConflict(conflict => conflict.doNothing())
          .compile()
      },
    }
  }

  function change({ table, where, set }: Kind<'update'>): Draft {
    const changes = Object.entries(set).map(([name, value]) => {
      const column = columnOf(columns, table, name)
      return [column.sqlName, encode(column, value)] as const
    })
    const conditions = readConditions(columns, table, where)
    return {
      shape: `update ${table} set ${changes.map(([name]) => name)} where ${conditions.map(shapeOf)}`,
      parameters: [...changes.map(([, value]) => value), ...conditions.flatMap(parametersOf)],
      write: () => writer.updateTable(table).set(Object.fromEntries(changes)).where(allOf(conditions)).compile(),
    }
  }

  function removal({ table, where }: Kind<'delete'>): Draft {
    const conditions = readConditions(columns, table, where)
    return {
      shape: `delete ${table} where ${conditions.map(shapeOf)}`,
      parameters: conditions.flatMap(parametersOf),
      write: () => writer.deleteFrom(table).where(allOf(conditions)).compile(),
    }
  }

  function check({ table, where }: Kind<'mustExist' | 'mustNotExist'>): Draft {
    const conditions = readConditions(columns, table, where)
    const one = sql<number>`1`
    return {
      shape: `check ${table} where ${conditions.map(shapeOf)}`,
      parameters: conditions.flatMap(parametersOf),
      write: () => writer.selectFrom(table).select(one.as('one')).where(allOf(conditions)).limit(one).compile(),
    }
  }

  return write => {
    switch (write.kind) {
      case 'insert':
        return guarded(cache(insertion(write)), { finds: false, least: 1, most: 1 })
      case 'update':
        return guarded(cache(change(write)), expected(write))
      case 'delete':
        return guarded(cache(removal(write)), expected(write))
      case 'mustExist':
        return guarded(cache(check(write)), { finds: true, least: 1, most: 1 })
      case 'mustNotExist':
        return guarded(cache(check(write)), { finds: true, least: 0, most: 0 })
    }
  }
}

type Guard = Omit<GuardedStatement, keyof Statement>

function guarded({ sql, parameters }: Statement, { finds, least, most }: Guard): GuardedStatement {
  return { sql, parameters, finds, least, most }
}

function expected({ rows = 1 }: Kind<'update' | 'delete'>): Guard {
  const [least, most] = rows === 'any' ? [0, Number.POSITIVE_INFINITY] : [rows, rows]
  return { finds: false, least, most }
}
