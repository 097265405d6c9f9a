import type { Writable } from 'node:stream'
import type { Id } from '../../mcp-wire/index.ts'
import { SendFailure } from '../session/channel.ts'

/** Writes lines to a program, as fast as it reads, and knows which of them it cannot have seen. */
export interface PipeWriter {
  /** Resolves when the pipe has taken it. Rejects with a `SendFailure`. */
  write(line: string, request?: Id): Promise<void>
  /** Takes back a request that still waits, and answers whether it did. */
  withdraw(request: Id): boolean
  /** Gives up what still waits, and whatever comes. */
  close(reason: string): void
}

export interface PipeWriterOptions {
  readonly maxWaitingBytes: number
}

/** Lines that wait go out together up to this size: a pipe takes no more at once, and what is in one is in doubt as one. */
const BATCH_BYTES = 64 * 1024

export function createPipeWriter(pipe: Writable, { maxWaitingBytes }: PipeWriterOptions): PipeWriter {
  let waiting: Waiting[] = []
  let waitingBytes = 0
  let isBusy = false
  let closed: string | undefined

  /**
   * One write at a time, so that all that waits here is known not to be in the pipe. An error that is there as soon as
   * `write` returns comes from the pipe itself, which then has taken nothing; a later one may have come in the middle.
   */
  function flush(): void {
    if (isBusy || closed !== undefined || waiting.length === 0) return
    const batch = takeBatch()
    isBusy = true
    let wasRefused = false
    pipe.write(batch.map(one => one.text).join(''), error => {
      isBusy = false
      if (error) return refuse(batch, { wasSent: wasRefused ? 'no' : 'maybe', cause: error })
      for (const { resolve } of batch) resolve()
      flush()
    })
    wasRefused = pipe.errored !== null
  }

  function takeBatch(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { size } of waiting) {
      if (count > 0 && bytes + size > BATCH_BYTES) break
      bytes += size
      count++
    }
    waitingBytes -= bytes
    return waiting.splice(0, count)
  }

  function refuse(batch: readonly Waiting[], facts: { wasSent: 'no' | 'maybe'; cause?: unknown }): void {
    for (const { reject } of batch) reject(new SendFailure(closed ?? 'The program does not read any more.', facts))
  }

  return {
    write(line, request) {
      if (closed !== undefined || !pipe.writable) return Promise.reject(notSent(closed ?? 'The program has ended.'))
      const text = `${line}\n`
      const size = Buffer.byteLength(text)
      if (waiting.length > 0 && waitingBytes + size > maxWaitingBytes)
        return Promise.reject(notSent('The program does not read what it is sent, and too much is waiting already.'))
      return new Promise((resolve, reject) => {
        waiting.push({ text, size, request, resolve, reject })
        waitingBytes += size
        flush()
      })
    },
    withdraw(request) {
      const at = waiting.findIndex(one => one.request === request)
      const taken = at < 0 ? [] : waiting.splice(at, 1)
      for (const { size, reject } of taken) {
        waitingBytes -= size
        reject(notSent('It was taken back before it was sent.'))
      }
      return taken.length > 0
    },
    close(reason) {
      closed ??= reason
      const batch = waiting
      waiting = []
      waitingBytes = 0
      refuse(batch, { wasSent: 'no' })
    },
  }
}

interface Waiting {
  readonly text: string
  readonly size: number
  readonly request: Id | undefined
  resolve(): void
  reject(error: SendFailure): void
}

function notSent(reason: string): SendFailure {
  return new SendFailure(reason, { wasSent: 'no' })
}
