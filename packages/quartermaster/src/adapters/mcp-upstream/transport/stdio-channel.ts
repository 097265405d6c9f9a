import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { isAppError, type StdioUpstream } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { commandText } from '../../../core/secrets/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { type Id, isRequest } from '../../mcp-wire/index.ts'
import {
  type Child,
  type ChildExit,
  type ProcessManager,
  programPlaces,
  type StopTimes,
  type WorkingFolderOptions,
  wait,
  workingFolder,
} from '../../programs/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  type ErrorReport,
  type OpenChannel,
  SendFailure,
} from '../peer/channel.ts'
import { guardMessages, MESSAGE_LIMITS } from '../peer/incoming-message.ts'
import type { ChildLog, ChildRun } from './child-log.ts'
import {
  type MessageReader,
  type MessageReaderLimits,
  readMessages,
  readStderr,
  type StderrReader,
} from './program-output.ts'

interface StdioLimits extends MessageReaderLimits {
  /** Limit of unread input of the program. */
  readonly maxWaitingBytes: number
}

export interface StdioChannelOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly stop?: StopTimes
  readonly limits?: Partial<StdioLimits>
  readonly log: ChildLog
  readonly processes: ProcessManager
  readonly clock: Clock
}

export const STDIO_LIMITS: StdioLimits = {
  maxLineBytes: MESSAGE_LIMITS.bytes,
  // As long as an answer can be: those of Node.js end at half of it.
  maxSkippedBytes: 1024 * 1024 * 1024,
  // More than any usage text; an endless writer reaches it in a moment.
  maxGreeting: 500,
  // As many progress lines as other clients accept in one call.
  maxNoise: 10_000,
  maxWaitingBytes: 64 * 1024 * 1024,
}

/** More than an excerpt has, of a line that may be as long as a message. */
const MOST_EXCERPTED = 4_096

/** The last output of a program arrives within this time; a child of it may hold the pipe open for ever. */
const REMAINING_OUTPUT_MS = 100
/** A pipe holds little, so more output is another process's. */
const MOST_REMAINING_WAITS = 10
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
      run.onFirstMessage()
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
    // Later, so that waiting senders first learn that nothing was sent.
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

/** Resolves when the program exits, or closes its output. */
async function watch(child: Child, { reader, stderr, log, run }: Watched): Promise<ChannelEnd> {
  await Promise.race([child.exited, reader.ended])
  if (child.isRunning()) await wait(EXIT_MS, child.exited)
  if (child.isRunning()) return { kind: 'lost', reason: 'It has closed its output and still runs.' }
  await readRemainingOutput(reader, Promise.all([reader.ended, stderr.ended]))
  const lastWords = stderr.errorLine()
  // Some programs print a usage text to their output, and exit.
  const trouble = exitReport(await child.exited, lastWords ? log.redact(lastWords) : run.noise())
  return { kind: 'exited', ...withCacheReport(trouble, stderr.tail()) }
}

/** A long answer is handled in turns, and nothing is read meanwhile: that is our time, not the program's. */
async function readRemainingOutput(reader: MessageReader, ended: Promise<unknown>): Promise<void> {
  for (let times = 0; times < MOST_REMAINING_WAITS; times++) {
    await wait(REMAINING_OUTPUT_MS, ended)
    const atWork = reader.handling()
    if (!atWork) return
    await atWork
  }
}

/** Writes lines to a program as fast as it reads, and knows which of them it cannot have seen. */
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
 * Waiting lines are written together up to this size: a pipe takes no more at once, and lines written together
 * succeed or fail together.
 */
const BATCH_BYTES = 64 * 1024

function createPipeWriter(pipe: Writable, { maxWaitingBytes }: PipeWriterOptions): PipeWriter {
  let waiting: Waiting[] = []
  let waitingBytes = 0
  let isBusy = false
  let closed: string | undefined

  /**
   * One write at a time, so that waiting lines are known not to be in the pipe. An error present as soon as `write`
   * returns comes from the pipe itself, which has accepted nothing; a later one may have come half-way.
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

/** What to do about a program that could not be started, in a sentence or two. */
export async function startFailure(error: unknown, program: { command: string; cwd: string }): Promise<string> {
  if (isAppError(error)) return error.message
  const { cwd } = program
  const command = commandText(program.command)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (process.platform === 'win32' && (code === 'EINVAL' || code === 'ENOENT')) return windowsReason(command)
  if (code === 'ENOENT' && !(await isFolder(cwd))) return `The working folder "${cwd}" is not there.`
  if (code === 'ENOENT') return missingReason(command)
  if (code === 'EACCES' && program.command.includes('/') && (await isFolder(resolve(cwd, program.command))))
    return `"${command}" is a folder. Write the path of the program itself as "command".`
  if (code === 'EACCES')
    return `"${command}" may not be run. Make it executable (chmod +x), or name the program that runs it.`
  if (code === 'E2BIG')
    return `"${command}" was given more arguments and variables than a program can have. Give it fewer.`
  // The error's message may contain an argument, and with it a secret.
  return `"${command}" could not be started (${code || 'for an unknown reason'}). Check its command, arguments and environment.`
}

/** A command line. A path may contain a space, but hardly an option. */
const WHOLE_LINE = /^[^\s/\\]+\s|\s--?[A-Za-z]/

function missingReason(command: string): string {
  if (WHOLE_LINE.test(command))
    return `There is no program "${command}". Write the program alone as "command", and each argument by itself in "args".`
  if (command.includes('/')) return `There is no program "${command}", or what its first line names is not there.`
  return `There is no program "${command}" on the PATH. Install it, or write its full path as "command".`
}

function windowsReason(command: string): string {
  return (
    `"${command}" is no program that can be started. A .cmd or .bat file, as npx is one, is run by cmd: ` +
    `set "command" to "cmd" and "args" to ["/c", "${command}", …].`
  )
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    stats => stats.isDirectory(),
    () => false,
  )
}

/** How a program ended, and its last line where that may be the cause. */
export function exitReport(exit: ChildExit, lastWords: string | undefined): ErrorReport {
  const reason = exitReason(exit)
  return lastWords === undefined || isEndedByOthers(exit)
    ? { reason }
    : { reason, said: excerptOf(lastWords, MOST_SAID) }
}

function exitReason({ code, signal }: ChildExit): string {
  if (signal) return `It was ended by ${signal}.`
  // Exit code 0 claims that nothing went wrong, so both are said.
  return code === 0 ? 'It closed its output and ended, with exit code 0.' : `It ended with exit code ${code}.`
}

/** The last line of a killed program may be its greeting; a program that aborts prints the cause. */
function isEndedByOthers({ code, signal }: ChildExit): boolean {
  return signal === null ? SIGNALLED.has(code ?? 0) : !BY_ITSELF.has(signal)
}

/** The exit codes of npx and shells whose program was killed: 128 and the signal, here KILL and TERM. */
const SIGNALLED: ReadonlySet<number> = new Set([137, 143])

const BY_ITSELF: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGILL',
  'SIGSEGV',
  'SIGSYS',
  'SIGTRAP',
])

/**
 * An interrupted download leaves an incomplete folder in the cache of npx, and every later start fails with a message
 * that names only the package. Only the folder's name is copied from it.
 */
export function withCacheReport(trouble: ErrorReport, lines: readonly string[]): ErrorReport {
  const folder = DAMAGED_CACHE.exec(lines.join('\n'))?.[1]
  if (folder === undefined) return trouble
  const found = 'Packages are missing in the cache of npx, as after a download that was cut off.'
  const fix = `Remove "_npx/${folder}" from npm's cache ("npm config get cache" says where it is), and it is downloaded again.`
  return { ...trouble, reason: `${trouble.reason} ${found} ${fix}` }
}

/** The message names the folder and a missing package, in one line or with the requiring files below. */
const DAMAGED_CACHE =
  /(?:Cannot find (?:package|module) '[^'./\\][^'\n]*'[^\n]{0,400}?|Cannot find (?:package|module) '(?:[A-Za-z]:)?(?=[\\/])[^'\n]{0,400}?|Cannot find module '[^'./\\][^'\n]*'\nRequire stack:\n- [^\n]{0,400}?|ENOTEMPTY[^\n]{0,400}?)[\\/]_npx[\\/]([0-9a-f]{8,64})[\\/]/

interface UnstartedProgram extends Pick<StdioUpstream, 'command' | 'env'>, WorkingFolderOptions {}

/** Why a program cannot be started; nothing where only a start would tell. */
export async function foreseenFailure({ command, env, ...place }: UnstartedProgram): Promise<string | undefined> {
  try {
    const folder = await workingFolder(place)
    if (process.platform !== 'win32') await requireOne(programPlaces(command, folder, env['PATH']))
    return undefined
  } catch (error) {
    return startFailure(error, { command, cwd: resolve(place.projectDir, place.cwd ?? '.') })
  }
}

/** Throws the error of a start: there is no program, or it may not be run. */
async function requireOne(places: readonly string[]): Promise<void> {
  const looks = await Promise.allSettled(places.map(requireProgram))
  if (looks.some(look => look.status === 'fulfilled')) return
  const failures: unknown[] = looks.map(look => look.status === 'rejected' && look.reason)
  const refusal = failures.find(failure => failure instanceof Error && 'code' in failure && failure.code === 'EACCES')
  if (failures.length > 0) throw refusal ?? failures[0]
}

/** A folder may have the same permission. */
async function requireProgram(place: string): Promise<void> {
  await access(place, constants.X_OK)
  if (!(await stat(place)).isFile()) throw Object.assign(new Error('It is no file.'), { code: 'EACCES' })
}
