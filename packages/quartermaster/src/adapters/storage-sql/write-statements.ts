import { sql } from 'kysely'
import type { Write } from '../../core/store/index.ts'
import { type Columns, columnOf, encode } from './columns.ts'
import { allOf, parametersOf, readConditions, shapeOf } from './conditions.ts'
import type { SqlWriter } from './dialect.ts'
import { foundNumber, valueIn } from './found-number.ts'
import type { GuardedStatement, SqlValue, Statement } from './statement.ts'
import type { Draft, StatementCache } from './statement-cache.ts'

type Kind<K extends Write['kind']> = Extract<Write, { kind: K }>

/** Turns writes into statements that carry their guard. */
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

  function look({ table, where }: Kind<'mustExist' | 'mustNotExist'>): Draft {
    const conditions = readConditions(columns, table, where)
    const one = sql<number>`1`
    return {
      shape: `look ${table} where ${conditions.map(shapeOf)}`,
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
        return guarded(cache(look(write)), { finds: true, least: 1, most: 1 })
      case 'mustNotExist':
        return guarded(cache(look(write)), { finds: true, least: 0, most: 0 })
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
