import type { GuardedStatement, StatementsOutcome } from '../storage-sql/index.ts'
import type { Connection } from './connection.ts'
import { toFault } from './fault.ts'
import type { Answer } from './protocol.ts'

export interface CommitRequest {
  readonly id: number
  readonly statements: readonly GuardedStatement[]
}

/** The answers to a group, and whether the connection can still be trusted. */
interface GroupAnswer {
  readonly answers: readonly Answer[]
  readonly isBroken: boolean
}

/**
 * Commits what callers who came together want in one transaction, so that they share one sync. A caller whose guard or
 * statement fails is undone by itself; the others are not touched by it.
 *
 * First it is tried as if nothing would fail, because a savepoint for each costs about a fifth of a small commit: every page is
 * copied before it is changed. Where something does fail, all of it is undone and done again with savepoints.
 */
export function commitGroup(connection: Connection, requests: readonly CommitRequest[]): GroupAnswer {
  let answers: readonly Answer[]
  try {
    connection.exec('BEGIN IMMEDIATE')
    answers = applyTogether(connection, requests) ?? applyApart(connection, requests)
  } catch (error) {
    const isBroken = !isUndone(connection)
    return { answers: failAll(requests, error, false), isBroken }
  }
  try {
    connection.exec('COMMIT')
    return { answers, isBroken: false }
  } catch (error) {
    // The sync may have failed after everything was written. Only reading the file again tells what is in it.
    isUndone(connection)
    return { answers: failAll(requests, error, true), isBroken: true }
  }
}

/** What each gets when nothing fails; nothing when something does. */
function applyTogether(connection: Connection, requests: readonly CommitRequest[]): readonly Answer[] | undefined {
  const answers: Answer[] = []
  for (const { id, statements } of requests) {
    const outcome = tried(connection, statements)
    if (!outcome?.done) return undefined
    answers.push({ id, outcome })
  }
  return answers
}

function tried(connection: Connection, statements: readonly GuardedStatement[]): StatementsOutcome | undefined {
  try {
    return apply(connection, statements)
  } catch {
    // It fails again where each has a savepoint, and is told there.
    return undefined
  }
}

/** Begins again, with a savepoint for each. A transaction that a full disk has ended is begun like one that is rolled back. */
function applyApart(connection: Connection, requests: readonly CommitRequest[]): readonly Answer[] {
  if (connection.isInTransaction) connection.exec('ROLLBACK')
  connection.exec('BEGIN IMMEDIATE')
  return requests.map(request => applyAlone(connection, request))
}

/** Throws only when the whole transaction is lost. */
function applyAlone(connection: Connection, { id, statements }: CommitRequest): Answer {
  connection.exec('SAVEPOINT caller')
  try {
    const outcome = apply(connection, statements)
    if (!outcome.done) connection.exec('ROLLBACK TO caller')
    connection.exec('RELEASE caller')
    return { id, outcome }
  } catch (error) {
    // A full disk or a failing one ends the transaction by itself, and with it what the others of the group wrote.
    if (!connection.isInTransaction) throw error
    connection.exec('ROLLBACK TO caller')
    connection.exec('RELEASE caller')
    return { id, fault: toFault(error), isUnknown: false }
  }
}

function apply(connection: Connection, statements: readonly GuardedStatement[]): StatementsOutcome {
  const counts: number[] = []
  for (const [index, statement] of statements.entries()) {
    const rows = connection.countRows(statement)
    if (rows < statement.least || rows > statement.most) return { done: false, index, rows }
    counts.push(rows)
  }
  return { done: true, rows: counts }
}

function failAll(requests: readonly CommitRequest[], error: unknown, isUnknown: boolean): readonly Answer[] {
  return requests.map(({ id }) => ({ id, fault: toFault(error), isUnknown }))
}

/** Whether nothing of the transaction is left. */
function isUndone(connection: Connection): boolean {
  try {
    if (connection.isInTransaction) connection.exec('ROLLBACK')
    return true
  } catch {
    // A connection that cannot even roll back is closed and opened again, which does the same.
    return false
  }
}
