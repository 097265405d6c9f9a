import { spawn } from 'node:child_process'
import { AppError, messageOf } from '../../contracts/index.ts'
import type { SqlConnection } from '../../core/operations/index.ts'
import type { SqlValue } from '../storage-sql/index.ts'
import { explain } from './errors.ts'
import type { Question, Reply } from './reader-process.ts'
import { findReaderProcess } from './worker-entry.ts'

/** Reads foreign SQLite files, each query in its own process. */
export interface SqliteReaders {
  open(file: string): SqlConnection
}

/** Enough for the effects of a few calls; more would slow everything else down. */
const MOST_PROCESSES = 16
const MOST_BYTES = 16 * 1024 * 1024

export function createSqliteReaders(): SqliteReaders {
  let processes = 0

  async function ask(question: Question, signal: AbortSignal): Promise<Reply> {
    if (processes >= MOST_PROCESSES) return { fault: { message: `${processes} questions are being answered already` } }
    processes++
    try {
      return await askProcess(await findReaderProcess(), question, signal)
    } finally {
      processes--
    }
  }

  return {
    open: file => ({
      async query(sql, parameters, { signal }) {
        const reply = await ask({ file, sql, parameters: parameters.map(toSqlValue) }, signal)
        if ('rows' in reply) return reply.rows
        throw new AppError(
          'DEPENDENCY_UNAVAILABLE',
          `The database "${file}" could not answer: ${explain(reply.fault)}.`,
        )
      },
    }),
  }
}

function toSqlValue(value: unknown): SqlValue {
  if (typeof value === 'string' || typeof value === 'number') return value
  return typeof value === 'boolean' ? Number(value) : null
}

/** Settles when the process has ended, at the latest when the signal aborts. */
function askProcess(code: readonly string[], question: Question, signal: AbortSignal): Promise<Reply> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const child = spawn(process.execPath, code, { stdio: ['pipe', 'pipe', 'ignore'], env: {}, windowsHide: true })
    const parts: Buffer[] = []
    let size = 0
    const stop = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', stop, { once: true })
    child.stdout.on('data', (part: Buffer) => {
      size += part.length
      if (size > MOST_BYTES) stop()
      else parts.push(part)
    })
    // A process that did not start or was killed reads nothing; its end is reported below.
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(question))
    child.on('error', error => resolve({ fault: { message: messageOf(error) } }))
    child.on('close', () => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) reject(signal.reason)
      else resolve(size > MOST_BYTES ? TOO_MUCH : replyIn(Buffer.concat(parts).toString('utf8')))
    })
  })
}

const TOO_MUCH: Reply = { fault: { message: `what it found is more than ${MOST_BYTES} bytes` } }

function replyIn(text: string): Reply {
  try {
    return JSON.parse(text) as Reply
  } catch {
    return { fault: { message: 'the process that asked it ended without an answer' } }
  }
}
