import type { Clock } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRequest } from '../../mcp-wire/index.ts'
import { type Child, type ProcessManager, type StopTimes, wait } from '../../programs/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  type OpenChannel,
} from '../session/channel.ts'
import { guardMessages } from '../session/incoming-message.ts'
import { MESSAGE_LIMITS } from '../session/message-limits.ts'
import type { ChildLog } from './child-log.ts'
import type { ChildRun } from './child-runs.ts'
import { type MessageReader, type MessageReaderLimits, readMessages } from './message-reader.ts'
import { createPipeWriter } from './pipe-writer.ts'
import { readStderr, type StderrReader } from './stderr-reader.ts'
import { exitTrouble, startFailure, withCacheTrouble } from './stdio-failure.ts'

export interface StdioLimits extends MessageReaderLimits {
  /** What may wait to be read by the program. */
  readonly maxWaitingBytes: number
}

export interface StdioChannelOptions {
  readonly command: string
  readonly args: readonly string[]
  /** As configured. */
  readonly env: Readonly<Record<string, string>>
  /** A folder that was looked at: see `workingFolder`. */
  readonly cwd: string
  readonly stop?: StopTimes
  readonly limits?: Partial<StdioLimits>
  readonly log: ChildLog
  readonly herd: ProcessManager
  readonly clock: Clock
}

/** What is taken from a program and kept for it. */
export const STDIO_LIMITS: StdioLimits = {
  maxLineBytes: MESSAGE_LIMITS.bytes,
  // As long as an answer can be where programs make one: those of Node.js end at half of it.
  maxSkippedBytes: 1024 * 1024 * 1024,
  // More than any usage has, and less than what writes for ever needs a moment for.
  maxGreeting: 500,
  // As many as a call may tell of its work in: it would go through with any other client.
  maxNoise: 10_000,
  maxWaitingBytes: 64 * 1024 * 1024,
}

/** Of a line that may be as long as a message; more than an excerpt has. */
const MOST_EXCERPTED = 4_096

/** What a program wrote before it ended is on its way for so long at most; a child of it may hold the pipe open for ever. */
const LAST_WORDS_MS = 100
/** A pipe holds little, so that whoever still keeps us at work then is another program. */
const MOST_LAST_WORDS = 10
/** A program that closes its output is about to end, as a rule. */
const EXIT_MS = 250

const CLOSED: ChannelEnd = { kind: 'closed', reason: 'The connection was closed.' }

/** A channel over the standard input and output of a program. A program that cannot be started is a `ChannelFailure`. */
export function openStdioChannel(options: StdioChannelOptions): OpenChannel {
  return async (events, signal) => {
    if (signal.aborted) throw new ChannelFailure(CLOSED)
    return createStdioChannel(await start(options), options, events)
  }
}

async function start({ herd, command, args, env, cwd, stop }: StdioChannelOptions): Promise<Child> {
  try {
    return await herd.spawn({ command, args, env, cwd, stop })
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
    // Later, so that whoever waits to send hears first that nothing was sent. From the end alone they could not know.
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

/** How it ends by itself: its program does, or its output. */
async function watch(child: Child, { reader, stderr, log, run }: Watched): Promise<ChannelEnd> {
  await Promise.race([child.exited, reader.ended])
  if (child.isRunning()) await wait(EXIT_MS, child.exited)
  if (child.isRunning()) return { kind: 'lost', reason: 'It has closed its output and still runs.' }
  await hearLastWords(reader, Promise.all([reader.ended, stderr.ended]))
  const lastWords = stderr.lastWords()
  // Some print there how they are to be called, and end.
  const trouble = exitTrouble(await child.exited, lastWords ? log.redact(lastWords) : run.noise())
  return { kind: 'exited', ...withCacheTrouble(trouble, stderr.tail()) }
}

/** A long answer is taken in turns, and nothing is read behind it meanwhile: that is our time, not the program's. */
async function hearLastWords(reader: MessageReader, ended: Promise<unknown>): Promise<void> {
  for (let times = 0; times < MOST_LAST_WORDS; times++) {
    await wait(LAST_WORDS_MS, ended)
    const atWork = reader.atWork()
    if (!atWork) return
    await atWork
  }
}
