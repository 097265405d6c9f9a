import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { GuardedStatement, StatementsOutcome } from '../storage-sql/index.ts'
import { type Connection, openConnection } from './connection.ts'
import { type Answer, type FromWorker, type Request, type ToWorker, toFault, type WorkerSettings } from './protocol.ts'
import { answerOnce } from './reader-process.ts'

// The thread that owns a connection. It takes everything that has arrived, executes it, and answers all of it at once.

/** With more, the first of a group would wait too long for the last. */
const LARGEST_GROUP = 512

if (parentPort) serve(parentPort, workerData as WorkerSettings)
else void answerOnce()

function serve(port: MessagePort, settings: WorkerSettings): void {
  const say = (message: FromWorker) => port.postMessage(message)
  let connection: Connection
  try {
    connection = openConnection(settings)
  } catch (error) {
    say({ kind: 'refused', fault: toFault(error) })
    port.close()
    return
  }
  port.on('message', (first: ToWorker) => {
    const { requests, isClosing } = takeAll(port, first)
    const commits = requests.filter(request => request.kind === 'commit')
    if (commits.length > 0) connection = commitAll(connection, commits, settings, say)
    const answers = requests.flatMap(request => (request.kind === 'read' ? [read(connection, request)] : []))
    if (answers.length > 0) say({ kind: 'answers', answers })
    if (!isClosing) return
    connection.close()
    port.close()
  })
}

/** The first message and everything that arrived while the last group was committed. */
function takeAll(port: MessagePort, first: ToWorker): { requests: readonly Request[]; isClosing: boolean } {
  const requests: Request[] = []
  let message: ToWorker | undefined = first
  while (message) {
    if (message.kind === 'close') return { requests, isClosing: true }
    requests.push(...message.requests)
    if (requests.length >= LARGEST_GROUP) break
    message = receiveMessageOnPort(port)?.message as ToWorker | undefined
  }
  return { requests, isClosing: false }
}

/** Returns the connection to continue with. A broken one is reopened; if that fails the thread ends. */
function commitAll(
  connection: Connection,
  requests: readonly CommitRequest[],
  settings: WorkerSettings,
  say: (message: FromWorker) => void,
): Connection {
  const startedAt = performance.now()
  const { answers, isBroken } = commitGroup(connection, requests)
  say({ kind: 'answers', answers, group: { commits: requests.length, ms: performance.now() - startedAt } })
  if (!isBroken) return connection
  connection.close()
  return openConnection(settings)
}

function read(connection: Connection, request: Extract<Request, { kind: 'read' }>): Answer {
  try {
    return { id: request.id, rows: connection.read(request.statement) }
  } catch (error) {
    return { id: request.id, fault: toFault(error), isUnknown: false }
  }
}

export interface CommitRequest {
  readonly id: number
  readonly statements: readonly GuardedStatement[]
}

/** The answers to a group, and whether the connection is still usable. */
interface GroupAnswer {
  readonly answers: readonly Answer[]
  readonly isBroken: boolean
}

/**
 * Commits the work of several callers in one transaction with one sync. A caller whose guard or statement fails is rolled back
 * alone.
 *
 * The first attempt has no savepoints, because each costs about a fifth of a small commit: SQLite copies every page before changing
 * it. If anything fails, everything is rolled back and repeated with savepoints.
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
    // The sync may have failed after everything was written. Only reading the file again tells.
    isUndone(connection)
    return { answers: failAll(requests, error, true), isBroken: true }
  }
}

/** The answers when nothing fails; `undefined` when something does. */
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
    // It fails again below, where each caller has a savepoint, and is reported there.
    return undefined
  }
}

/** Repeats the group with a savepoint for each caller. A full disk may have ended the transaction already. */
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
    // A full or failing disk ends the transaction, including what the other callers wrote.
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

/** Whether the transaction was rolled back. */
function isUndone(connection: Connection): boolean {
  try {
    if (connection.isInTransaction) connection.exec('ROLLBACK')
    return true
  } catch {
    // A connection that cannot roll back is closed and reopened, which has the same effect.
    return false
  }
}
