import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type CommitRequest, commitGroup } from './committer.ts'
import { type Connection, openConnection } from './connection.ts'
import { toFault } from './fault.ts'
import type { Answer, FromWorker, Request, ToWorker, WorkerSettings } from './protocol.ts'
import { answerOnce } from './reader-process.ts'

// The thread that owns a connection. It takes everything that has arrived, does it, and answers all of it at once.

/** More would make the first of a group wait too long for the last. */
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

/** The first message and all that came while the last group was committed. */
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

/** Answers the connection to go on with. One that can no longer be trusted is replaced; if that fails the thread ends. */
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
