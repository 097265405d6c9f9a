import type { Log } from '../../core/kernel/index.ts'
import type { ChangedRows } from '../../core/store/index.ts'
import {
  type GuardedStatement,
  type Migration,
  migrate,
  type SqlExecutor,
  type StatementsOutcome,
} from '../storage-sql/index.ts'
import type { Connected } from './connector.ts'
import type { DatabaseAddress } from './database-address.ts'
import { type Fault, nameAnother, toFault, undone, unknownOutcome } from './errors.ts'
import type { FlightEnd, Link, Step, StepEnd } from './link.ts'

type CommitEnd = { readonly outcome: StatementsOutcome } | { readonly fault: Fault; readonly isUnknown: boolean }

/** A caller's statements, and the notification for other processes. */
export interface CommitWork {
  readonly statements: readonly GuardedStatement[]
  readonly news: readonly ChangedRows[]
}

/** Commits the work of several callers, each as if alone and after the one before. */
export type CommitGroup = (link: Link, group: readonly CommitWork[]) => Promise<readonly CommitEnd[]>

interface Caller {
  readonly index: number
  readonly steps: readonly Step[]
  /** The number of steps before its own statements. */
  readonly prefix: number
}

interface CommitterOptions {
  /** The advisory lock that all writers of the schema take. */
  readonly lock: { readonly space: number; readonly key: number }
  readonly toStep: ToStep
  /** Encodes the notification of other processes, if there is any. */
  toNews?(news: readonly ChangedRows[]): { readonly channel: string; readonly text: string } | undefined
}

/**
 * Commits a group in one transaction, and in one round trip if every guard holds. A caller whose guard or statement fails is rolled
 * back to its savepoint, and the next round trip continues with the callers behind it. Other processes are notified once per
 * group, also of rolled back rows: they read again and find nothing changed.
 */
export function createCommitter({ lock, toStep, toNews }: CommitterOptions): CommitGroup {
  const opening: readonly Step[] = [
    BEGIN,
    { sql: 'select pg_advisory_xact_lock($1, $2)', parameters: [lock.space, lock.key], name: 'lock' },
  ]

  return async (link, group) => {
    const ends: CommitEnd[] = []
    // A single commit needs no savepoint.
    const prefix = group.length > 1 ? [SAVEPOINT] : []
    const closing = [...notifying(toNews?.(group.flatMap(({ news }) => news))), COMMIT]
    let left: readonly Caller[] = group.map(({ statements }, index) => ({
      index,
      steps: [...prefix, ...statements.map(toStep)],
      prefix: prefix.length,
    }))
    let before = opening
    try {
      for (;;) {
        const end = await link.run([...before, ...left.flatMap(({ steps }) => steps), ...closing])
        const failed = take(end, { before: before.length, left, ends, closing: closing.length })
        if (failed === 'none') return ends
        if (failed === 'all') return await undoAll(link, group, toFault(end.error))
        left = left.slice(left.indexOf(failed) + 1)
        if (left.length === 0 && ends.every(isRefused)) return await abandon(link, ends)
        before = [ROLLBACK_TO]
      }
    } catch (error) {
      // COMMIT is the last statement of the flight; how far the flight came is unknown.
      return failAll(group, toFault(error), true)
    }
  }
}

const BEGIN = step('begin isolation level read committed', 'begin')
const COMMIT = step('commit', 'commit')
const ROLLBACK = step('rollback', 'rollback')
// A later savepoint of the same name hides earlier ones, so a rollback always leads to the current caller.
const SAVEPOINT = step('savepoint caller', 'savepoint')
const ROLLBACK_TO = step('rollback to savepoint caller', 'back')

function step(sql: string, name: string): Step {
  return { sql, parameters: [], name }
}

function notifying(news: { readonly channel: string; readonly text: string } | undefined): readonly Step[] {
  if (!news) return []
  return [{ sql: 'select pg_notify($1, $2)', parameters: [news.channel, news.text], name: 'notify' }]
}

interface Flown {
  readonly before: number
  readonly left: readonly Caller[]
  readonly ends: CommitEnd[]
  readonly closing: number
}

/** Records how each caller ended, up to the first failed caller. */
function take({ ends, error }: FlightEnd, flown: Flown): Caller | 'none' | 'all' {
  let at = flown.before
  for (const caller of flown.left) {
    const size = caller.steps.length
    const own = ends.slice(at + caller.prefix, at + size)
    if (ends.length < at + size) {
      if (ends.length < flown.before) return 'all'
      flown.ends[caller.index] = failureOf(own, toFault(error))
      return caller
    }
    flown.ends[caller.index] = { outcome: { done: true, rows: own.map(rowsOf) } }
    at += size
  }
  // PostgreSQL answers COMMIT with ROLLBACK when it could not commit.
  return error === undefined && ends[at + flown.closing - 1]?.tag === 'COMMIT' ? 'none' : 'all'
}

function failureOf(done: readonly StepEnd[], fault: Fault): CommitEnd {
  const rows = failedRows(fault)
  return rows === undefined ? { fault, isUnknown: false } : { outcome: { done: false, index: done.length, rows } }
}

function isRefused(end: CommitEnd): boolean {
  return 'fault' in end || !end.outcome.done
}

async function abandon(link: Link, ends: readonly CommitEnd[]): Promise<readonly CommitEnd[]> {
  // If the connection is lost, the server rolls back itself.
  await link.run([ROLLBACK]).catch(() => undefined)
  return ends
}

async function undoAll(link: Link, group: readonly unknown[], fault: Fault): Promise<readonly CommitEnd[]> {
  await link.run([ROLLBACK]).catch(() => undefined)
  return failAll(group, fault, false)
}

function failAll(group: readonly unknown[], fault: Fault, isUnknown: boolean): readonly CommitEnd[] {
  return group.map(() => ({ fault, isUnknown }))
}

/** Converts guarded statements to steps that fail on the server when their guard does. */
export type ToStep = (statement: GuardedStatement) => Step

/** Shapes come from code; those beyond the limit are not prepared. */
const MOST_NAMES = 500

/**
 * The server itself has to detect a failed guard: a round trip for checking it would block every writer. So a statement counts its
 * rows, and a wrong count is cast to a number in a way that fails.
 */
export function createGuardedSteps(): ToStep {
  const known = new Map<string, Omit<Step, 'parameters'>>()
  return statement => {
    const { sql, parameters, least, most, finds } = statement
    // Migrations run once, so they are not prepared.
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

/** The rows of a failed guard; `undefined` when something else failed. */
export function failedRows({ code, message }: Fault): number | undefined {
  const rows = code === INVALID_NUMBER ? message.split(MARK)[1] : undefined
  return rows === undefined ? undefined : Number.parseInt(rows, 10)
}

/** `invalid_text_representation` */
const INVALID_NUMBER = '22P02'

/** The rows that a step affected or found. */
export function rowsOf({ tag, value }: StepEnd): number {
  return Number(value ?? /\d+$/.exec(tag)?.[0] ?? 0)
}

/** Our advisory lock spaces: for commits, and for migrations. */
export const LOCKS = { commits: 74_201, shapes: 74_202 } as const

interface MigrateAloneOptions {
  readonly commitGroup: CommitGroup
  readonly migrations: readonly Migration[]
  readonly log: Log
  readonly address: DatabaseAddress
}

/** Migrates the schema under a session lock, so that no other process does. The lock ends with the session. */
export async function migrateAlone({ link, facts }: Connected, options: MigrateAloneOptions): Promise<void> {
  const { commitGroup, address, ...more } = options
  const executor: SqlExecutor = {
    async commit(statements) {
      const [end] = await commitGroup(link, [{ statements, news: [] }])
      if (end && 'outcome' in end) return end.outcome
      const fault = end?.fault ?? { message: 'it did not answer' }
      throw end?.isUnknown ? unknownOutcome(fault) : undone(fault)
    },
    read: statement => link.read(statement),
  }
  const parameters = [LOCKS.shapes, facts.schemaKey]
  await link.read({ sql: 'select pg_advisory_lock($1, $2)', parameters })
  await migrate({ executor, ...more, place: address.text, elsewhere: nameAnother(address.named) })
  await link.read({ sql: 'select pg_advisory_unlock($1, $2)', parameters })
}
