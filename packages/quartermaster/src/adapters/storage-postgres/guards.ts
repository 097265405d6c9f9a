import type { GuardedStatement } from '../storage-sql/index.ts'
import type { Fault } from './errors.ts'
import type { Step, StepEnd } from './link.ts'

/** Turns guarded statements into steps that fail by themselves when their guard does. */
export type ToStep = (statement: GuardedStatement) => Step

/** Shapes come from code, not from data; what is beyond this is run without being kept. */
const MOST_NAMES = 500

/**
 * The server has to see a failed guard itself: a round trip in which we look would be one in which everybody waits for us.
 * So a statement is counted, and a count that does not fit is read as a number that it is not.
 */
export function createGuardedSteps(): ToStep {
  const known = new Map<string, Omit<Step, 'parameters'>>()
  return statement => {
    const { sql, parameters, least, most, finds } = statement
    // Changes of the database's shape: each is run once.
    if (parameters.length === 0 && !finds) return { sql: guarded(statement), parameters }
    const key = `${least} ${most} ${sql}`
    const found = known.get(key)
    if (found) return { ...found, parameters }
    const step = { sql: guarded(statement), ...(known.size < MOST_NAMES ? { name: `w${known.size}` } : {}) }
    if (known.size < MOST_NAMES) known.set(key, step)
    return { ...step, parameters }
  }
}

const MARK = 'guard failed, rows: '

function guarded({ sql, finds, least, most }: GuardedStatement): string {
  if (least === 0 && most === Number.POSITIVE_INFINITY) return sql
  const fits = least === most ? `count(*) = ${least}` : `count(*) between ${least} and ${most}`
  const verdict = `select case when ${fits} then count(*) else cast('${MARK}' || count(*) as bigint) end`
  return finds ? `${verdict} from (${sql}) as "found"` : `with "done" as (${sql} returning 1) ${verdict} from "done"`
}

/** The rows that a failed guard has found; `undefined` when something else failed. */
export function failedRows({ code, message }: Fault): number | undefined {
  const rows = code === INVALID_NUMBER ? message.split(MARK)[1] : undefined
  return rows === undefined ? undefined : Number.parseInt(rows, 10)
}

/** `invalid_text_representation` */
const INVALID_NUMBER = '22P02'

/** The rows that a step has touched or found. */
export function rowsOf({ tag, value }: StepEnd): number {
  return Number(value ?? /\d+$/.exec(tag)?.[0] ?? 0)
}

/** Ours among the advisory locks of a database: for commits, and for changes of its shape. */
export const LOCKS = { commits: 74_201, shapes: 74_202 } as const
