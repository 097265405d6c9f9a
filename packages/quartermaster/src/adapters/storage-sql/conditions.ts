import { type ExpressionBuilder, type ExpressionWrapper, type SqlBool, sql } from 'kysely'
import { AppError, type Table } from '../../contracts/index.ts'
import { type Column, type Columns, columnOf, encode } from './columns.ts'
import type { SqlTables } from './dialect.ts'
import type { SqlValue } from './statement.ts'

const OPERATORS = { below: '<', atMost: '<=', above: '>', atLeast: '>=', not: 'is distinct from' } as const
type Operator = '=' | 'is' | 'is not' | 'in' | 'other case' | (typeof OPERATORS)[keyof typeof OPERATORS]

/** One condition, ready to be written as SQL. */
export interface SqlCondition {
  readonly column: Column
  readonly operator: Operator
  readonly values: readonly SqlValue[]
}

/** The conditions of a `where`, in its order. */
export function readConditions(columns: Columns, table: Table, where: object): readonly SqlCondition[] {
  return Object.entries(where).map(([name, condition]) => readCondition(columnOf(columns, table, name), condition))
}

/** What makes the SQL of two conditions the same. */
export function shapeOf({ column, operator, values }: SqlCondition): string {
  return operator === 'in' ? `${column.name} in ${values.length}` : `${column.name} ${operator}`
}

/** The values that stand in the SQL as parameters. */
export function parametersOf({ operator, values }: SqlCondition): readonly SqlValue[] {
  return operator === 'is' || operator === 'is not' ? [] : values
}

type Builder = ExpressionBuilder<SqlTables, Table>
type Bool = ExpressionWrapper<SqlTables, Table, SqlBool>

/** All conditions at once; true when there are none. */
export function allOf(conditions: readonly SqlCondition[]): (builder: Builder) => Bool {
  return builder => builder.and(conditions.map(condition => expression(builder, condition)))
}

function readCondition(column: Column, condition: unknown): SqlCondition {
  // Left out it would mean "any", and a row that nobody meant would be changed.
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

/** Lists are filled up to a power of two by repeating the last one, so that few lengths need SQL of their own. */
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

/** All rows of the other conditions are looked at: no index has it. */
function otherCase(builder: Builder, { sqlName }: Column, [lower, value]: readonly SqlValue[]): Bool {
  return builder.and([
    builder(sql`lower(${sql.ref(sqlName)})`, '=', lower),
    builder(sqlName, '<>', value as SqlValue),
  ]) as Bool
}

function unclear({ table, name }: Column): AppError {
  return new AppError('INTERNAL', `The condition on "${table}.${name}" is none: give a value, null, or one comparison.`)
}
