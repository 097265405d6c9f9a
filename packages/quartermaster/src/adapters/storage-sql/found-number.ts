import { type RawBuilder, sql } from 'kysely'
import type { Table } from '../../contracts/index.ts'
import type { FoundNumber } from '../../core/store/index.ts'
import { type Column, type Columns, columnOf, encode } from './columns.ts'
import type { SqlValue } from './statement.ts'

/** How a number of a new row is found inside its commit. */
export interface FoundPlace {
  /** The column, as the row calls it. */
  readonly name: string
  /** What makes the SQL of two the same. */
  readonly shape: string
  readonly parameters: readonly SqlValue[]
  /** Takes its own parameters from the front. */
  write(left: (SqlValue | undefined)[]): RawBuilder<number>
}

interface Numbered {
  readonly table: Table
  readonly row: object
  readonly found: FoundNumber
}

export function foundNumber(columns: Columns, { table, row, found }: Numbered): FoundPlace {
  return found.by === 'copy' ? copied(columns, found) : next(columns, { table, row, found })
}

/** What a new row has in a column. */
export function valueIn(row: object, { name, fallback }: Column): unknown {
  const value = (row as Record<string, unknown>)[name]
  return value === undefined ? fallback : value
}

function copied(columns: Columns, { column, from, id }: Extract<FoundNumber, { by: 'copy' }>): FoundPlace {
  const name = sql.ref(columnOf(columns, from, column).sqlName)
  return {
    name: column,
    shape: `copy ${column} ${from}`,
    parameters: [id],
    write: left => sql`(select ${name} from ${sql.table(from)} where ${sql.ref('id')} = ${left.shift()})`,
  }
}

/** The highest is one step in the index that there must be for it. */
function next(
  columns: Columns,
  { table, row, found }: Numbered & { readonly found: Extract<FoundNumber, { by: 'next' }> },
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
