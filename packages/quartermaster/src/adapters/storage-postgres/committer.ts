import type { ChangedRows } from '../../core/store/index.ts'
import type { GuardedStatement, StatementsOutcome } from '../storage-sql/index.ts'
import { type Fault, toFault } from './errors.ts'
import { failedRows, rowsOf, type ToStep } from './guards.ts'
import type { FlightEnd, Link, Step, StepEnd } from './link.ts'

/** The end of one caller's commit. */
type CommitEnd =
  | { readonly outcome: StatementsOutcome }
  | { readonly fault: Fault /** Whether it may have been done all the same. */; readonly isUnknown: boolean }

/** What one caller wants, and what others are told about it. */
export interface CommitWork {
  readonly statements: readonly GuardedStatement[]
  readonly news: readonly ChangedRows[]
}

/** Commits what callers who came together want, each as if alone and after the one before. */
export type CommitGroup = (link: Link, group: readonly CommitWork[]) => Promise<readonly CommitEnd[]>

/** A lock that all who write to the same schema take in turn. */
interface CommitLock {
  readonly space: number
  readonly key: number
}

interface Caller {
  readonly index: number
  readonly steps: readonly Step[]
  /** How many of the steps come before its own statements. */
  readonly prefix: number
}

interface CommitterOptions {
  readonly lock: CommitLock
  readonly toStep: ToStep
  /** The text that tells all others of it, if there is anything to tell. */
  toNews?(news: readonly ChangedRows[]): { readonly channel: string; readonly text: string } | undefined
}

/**
 * One transaction for the group, in one round trip when every guard holds. A caller whose guard or statement fails is undone to
 * its savepoint, and the next round trip goes on behind it. Others are told once for all of the group, also of what was undone:
 * they look, and find that nothing has changed.
 */
export function createCommitter({ lock, toStep, toNews }: CommitterOptions): CommitGroup {
  const opening: readonly Step[] = [
    BEGIN,
    { sql: 'select pg_advisory_xact_lock($1, $2)', parameters: [lock.space, lock.key], name: 'lock' },
  ]

  return async (link, group) => {
    const ends: CommitEnd[] = []
    // A commit that is alone needs no savepoint: no other writes are kept.
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
      // The commit is the last statement of the flight, and it is unknown how far this one came.
      return failAll(group, toFault(error), true)
    }
  }
}

const BEGIN = step('begin isolation level read committed', 'begin')
const COMMIT = step('commit', 'commit')
const ROLLBACK = step('rollback', 'rollback')
// Later ones of the same name hide the earlier, so that going back always leads to the caller at hand.
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
  /** Steps before the callers'. */
  readonly before: number
  readonly left: readonly Caller[]
  readonly ends: CommitEnd[]
  /** Steps behind the callers', the last of which commits. */
  readonly closing: number
}

/** Notes how each caller ended, up to the one that failed. */
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
  // A transaction that could not be committed says that it was rolled back.
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
  // If the connection is lost over it, the server does the same by itself.
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
