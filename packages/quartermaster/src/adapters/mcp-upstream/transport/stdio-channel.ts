import type { Writable } from 'node:stream'
import type { Clock } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { type Id, isRequest } from '../../mcp-wire/index.ts'
import { type Child, type ProcessManager, type StopTimes, wait } from '../../programs/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  type OpenChannel,
  SendFailure,
} from '../peer/channel.ts'
import { guardMessages } from '../peer/incoming-message.ts'
import { MESSAGE_LIMITS } from '../peer/message-limits.ts'
import type { ChildLog, ChildRun } from './child-log.ts'
import { type MessageReader, type MessageReaderLimits, readMessages } from './message-reader.ts'
import { readStderr, type StderrReader } from './stderr-reader.ts'
import { exitTrouble, startFailure, withCacheTrouble } from './stdio-failure.ts'

interface StdioLimits extends MessageReaderLimits {
  /** The limit of what waits to be read by the program. */
  readonly maxWaitingBytes: number
}

export interface StdioChannelOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** A checked folder: see `workingFolder`. */
  readonly cwd: string
  readonly stop?: StopTimes
  readonly limits?: Partial<StdioLimits>
  readonly log: ChildLog
  readonly processes: ProcessManager
  readonly clock: Clock
}

/** Limits of a program's input and output. */
export const STDIO_LIMITS: StdioLimits = {
  maxLineBytes: MESSAGE_LIMITS.bytes,
  // As long as an answer of a program can be: those of Node.js end at half of it.
  maxSkippedBytes: 1024 * 1024 * 1024,
  // More than any usage text, and less than an endless writer needs a moment for.
  maxGreeting: 500,
  // As many progress lines as any other client would accept in one call.
  maxNoise: 10_000,
  maxWaitingBytes: 64 * 1024 * 1024,
}

/** For a line that may be as long as a message; more than an excerpt has. */
const MOST_EXCERPTED = 4_096

/** What a program wrote before it ended arrives within this time; a child of it may hold the pipe open for ever. */
const LAST_WORDS_MS = 100
/** A pipe holds little, so any more output is another program's. */
const MOST_LAST_WORDS = 10
/** A program that closes its output usually exits within this time. */
const EXIT_MS = 250

const CLOSED: ChannelEnd = { kind: 'closed', reason: 'The connection was closed.' }

/**
 * A channel over the standard input and output of a program. A program that cannot be started is a `ChannelFailure`.
 */
export function openStdioChannel(options: StdioChannelOptions): OpenChannel {
  return async (events, signal) => {
    if (signal.aborted) throw new ChannelFailure(CLOSED)
    return createStdioChannel(await start(options), options, events)
  }
}

async function start({ processes, command, args, env, cwd, stop }: StdioChannelOptions): Promise<Child> {
  try {
    return await processes.spawn({ command, args, env, cwd, stop })
  } catch (error) {
    const reason = await startFailure(error, { command, cwd })
    throw new ChannelFailure({ kind: 'exited', reason }, { cause: error })
  }
}

function createStdioChannel(child: Child, options: StdioChannelOptions, events: ChannelEvents): Channel {
  const { log, clock } = options
  const run = log.begin(child.pid)
  const limits = { ...STDIO_LIMITS, ...options.limits }
  const writer = createPipeWriter(child.stdin, limits)
  const receive = guardMessages(events.onMessage, text => log.add('gateway', text))
  const stderr = readStderr(child.stderr, { log, clock })
  const reader = readMessages(child.stdout, {
    limits,
    onMessage(message) {
      run.understood()
      receive(message, undefined)
    },
    onPart: () => events.onPart?.(),
    onNoise(text, excess) {
      if (excess) log.add('gateway', `A message is not taken. ${excess} It begins: ${text}`)
      else run.addNoise(text)
    },
    onGarbled: trouble => end({ kind: 'garbled', ...trouble }),
    start: head => `${log.redactStart(head, head.length, { isCut: true }).text}…`,
    excerpt: text => excerptOf(log.redactStart(text, MOST_EXCERPTED).text),
  })
  let isOver = false

  function end(how: ChannelEnd): void {
    if (isOver) return
    isOver = true
    run.end()
    reader.stop()
    writer.close(how.reason)
    void child.end({ isHanging: how.kind === 'hung' })
    // Later, so that waiting senders first learn that nothing was sent. The end alone does not tell.
    setImmediate(() => events.onEnd(how))
  }

  void watch(child, { reader, stderr, log, run }).then(end)
  return {
    hasExchanges: false,
    send: async message => writer.write(JSON.stringify(message), isRequest(message) ? message.id : undefined),
    withdraw: writer.withdraw,
    close(why = CLOSED) {
      end(why)
      return child.end()
    },
    pids: () => (child.isRunning() ? [child.pid] : []),
  }
}

interface Watched {
  readonly reader: MessageReader
  readonly stderr: StderrReader
  readonly log: ChildLog
  readonly run: ChildRun
}

/** How it ends on its own: its program exits, or closes its output. */
async function watch(child: Child, { reader, stderr, log, run }: Watched): Promise<ChannelEnd> {
  await Promise.race([child.exited, reader.ended])
  if (child.isRunning()) await wait(EXIT_MS, child.exited)
  if (child.isRunning()) return { kind: 'lost', reason: 'It has closed its output and still runs.' }
  await hearLastWords(reader, Promise.all([reader.ended, stderr.ended]))
  const lastWords = stderr.lastWords()
  // Some print a usage text there, and exit.
  const trouble = exitTrouble(await child.exited, lastWords ? log.redact(lastWords) : run.noise())
  return { kind: 'exited', ...withCacheTrouble(trouble, stderr.tail()) }
}

/** A long answer is handled in turns, and nothing is read behind it meanwhile: that is our time, not the program's. */
async function hearLastWords(reader: MessageReader, ended: Promise<unknown>): Promise<void> {
  for (let times = 0; times < MOST_LAST_WORDS; times++) {
    await wait(LAST_WORDS_MS, ended)
    const atWork = reader.atWork()
    if (!atWork) return
    await atWork
  }
}

/** Writes lines to a program, as fast as it reads, and knows which of them it cannot have seen. */
interface PipeWriter {
  /** Resolves when the pipe has accepted it. Rejects with a `SendFailure`. */
  write(line: string, request?: Id): Promise<void>
  /** Takes back a waiting request, and answers whether it did. */
  withdraw(request: Id): boolean
  close(reason: string): void
}

interface PipeWriterOptions {
  readonly maxWaitingBytes: number
}

/**
 * Waiting lines are written together up to this size: a pipe takes no more at once, and lines written together share
 * their fate.
 */
const BATCH_BYTES = 64 * 1024

function createPipeWriter(pipe: Writable, { maxWaitingBytes }: PipeWriterOptions): PipeWriter {
  let waiting: Waiting[] = []
  let waitingBytes = 0
  let isBusy = false
  let closed: string | undefined

  /**
   * One write at a time, so that all that waits here is known not to be in the pipe. An error present as soon as
   * `write` returns comes from the pipe itself, which has accepted nothing; a later one may have come half-way.
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
