import type { UpstreamLogLine } from '../../../contracts/index.ts'
import { type Clock } from '../../../core/kernel/index.ts'
import { createSecretRedactor, type SecretRedactor } from '../../../core/secrets/index.ts'

type LineOrigin = UpstreamLogLine['from']

export interface ChildLogOptions {
  readonly clock: Clock
  readonly secrets?: readonly string[]
}

/** Masks texts as the log does. */
export type Masks = Pick<SecretRedactor, 'redact' | 'redactStart'>

/** The newest lines by a server and about it, bounded however much it writes. */
export interface ChildLog extends Pick<ChildRuns, 'begin' | 'noise'>, Masks {
  add(from: LineOrigin, text: string): void
  /** Counts dropped lines that were not read. */
  drop(from: LineOrigin, lines: number): void
  /** Whether the next line of this origin would be dropped. */
  isFull(from: LineOrigin): boolean
  /** Masks these texts from now on, too. */
  hide(...texts: readonly (string | undefined)[]): void
  lines(options: { limit: number }): UpstreamLogLine[]
  /** Whether any line is the server's own, or reports output that was no message. */
  hasSpoken(): boolean
}

/** Shorter secrets occur in every other line. */
export const SHORTEST_SECRET = 4
/** For changing tokens: those in use by many agents, and their predecessors. */
const MOST_HIDDEN = 256

/**
 * Limits of one upstream's log. No one reads more than 200 lines a second of one origin, and keeping them costs time.
 */
export const LOG_LIMITS = { lines: 1_000, bytes: 256 * 1024, lineBytes: 8 * 1024, linesASecond: 200 }
const SECOND_MS = 1_000

export function createChildLog({ clock, secrets = [] }: ChildLogOptions): ChildLog {
  const hidden = new Set<string>()
  let known = createSecretRedactor(secrets)
  // The masks change, and holders of this object use the newest.
  const masks: Masks = {
    redact: text => known.redact(text),
    redactStart: (...given) => known.redactStart(...given),
  }
  const kept = createKeptLines()
  // Output that is no message has its own limit, to leave room for our own lines.
  const windows = new Map<LineOrigin | 'noise', Window>()
  const runs = createChildRuns({ add, clean })

  function clean(text: string): string {
    const start = known.redactStart(text, LOG_LIMITS.lineBytes)
    return cut(start.text, start.isWhole ? '' : '…')
  }

  function keep(from: LineOrigin, text: string): void {
    kept.add({ at: Math.round(clock.now()), from, text })
  }

  function windowOf(from: LineOrigin | 'noise'): Window {
    const now = clock.now()
    const known = windows.get(from)
    if (known && now - known.since < SECOND_MS) return known
    if (known) settle(known)
    const begun = { since: now, added: 0, dropped: 0 }
    windows.set(from, begun)
    return begun
  }

  function settle(window: Window): void {
    if (window.dropped === 0) return
    keep('gateway', droppedText(window.dropped))
    window.dropped = 0
  }

  function add(from: LineOrigin, text: string, of: LineOrigin | 'noise' = from): void {
    const window = windowOf(of)
    if (window.added >= LOG_LIMITS.linesASecond) {
      window.dropped++
      return
    }
    window.added++
    keep(from, clean(text))
  }

  return {
    add,
    begin: runs.begin,
    noise: runs.noise,
    drop(from, lines) {
      windowOf(from).dropped += lines
    },
    hide(...texts) {
      const before = hidden.size
      for (const text of texts) if (text !== undefined && text.length >= SHORTEST_SECRET) hidden.add(text)
      if (hidden.size === before) return
      for (const text of hidden) if (hidden.size > MOST_HIDDEN) hidden.delete(text)
      known = createSecretRedactor([...secrets, ...hidden])
    },
    isFull: from => windowOf(from).added >= LOG_LIMITS.linesASecond,
    lines({ limit }) {
      for (const window of windows.values()) settle(window)
      return kept.newest(limit)
    },
    hasSpoken: () => runs.wereNoisy() || kept.newest(LOG_LIMITS.lines).some(({ from }) => from !== 'gateway'),
    ...masks,
  }
}

interface Window {
  readonly since: number
  added: number
  dropped: number
}

function droppedText(lines: number): string {
  return lines === 1 ? '… 1 line was dropped' : `… ${lines} lines were dropped`
}

function cut(begun: string, mark: string): string {
  const text = begun + mark
  if (text.length * 3 <= LOG_LIMITS.lineBytes) return text
  const bytes = Buffer.from(text)
  return bytes.length <= LOG_LIMITS.lineBytes
    ? text
    : `${bytes.toString('utf8', 0, LOG_LIMITS.lineBytes - 6).replace(/�$/, '')}…`
}

interface KeptLines {
  add(line: UpstreamLogLine): void
  newest(limit: number): UpstreamLogLine[]
}

function createKeptLines(): KeptLines {
  const lines: UpstreamLogLine[] = []
  let bytes = 0
  return {
    add(line) {
      lines.push(line)
      bytes += Buffer.byteLength(line.text)
      while (lines.length > LOG_LIMITS.lines || bytes > LOG_LIMITS.bytes)
        bytes -= Buffer.byteLength(lines.shift()?.text ?? '')
    },
    newest: limit => (limit > 0 ? lines.slice(-limit) : []),
  }
}

export interface ChildRun {
  addNoise(text: string): void
  /** The program sent a message, so earlier output was a greeting. */
  onFirstMessage(): void
  /** Output in place of messages, if the program never sent one. */
  noise(): string | undefined
  end(): void
}

/** The programs of one server: one after the other or, per agent, side by side. */
interface ChildRuns {
  /** A program was started: a log line marks the beginning of its output. */
  begin(pid: number): ChildRun
  /** Output of the starting program in place of messages; nothing where several are starting. */
  noise(): string | undefined
  wereNoisy(): boolean
}

interface ChildRunsDeps {
  /** `of`: the limit that the line counts towards, if not that of its origin. */
  add(from: UpstreamLogLine['from'], text: string, of?: 'noise'): void
  clean(text: string): string
}

const MOST_NOISE = 2_048

function createChildRuns({ add, clean }: ChildRunsDeps): ChildRuns {
  const unproven = new Set<ChildRun>()
  let wereNoisy = false

  return {
    begin(pid) {
      let noise = ''
      const run: ChildRun = {
        addNoise(text) {
          add('gateway', `Not a message on its output: ${text}`, 'noise')
          wereNoisy = true
          if (unproven.has(run) && noise.length < MOST_NOISE) noise += `${clean(text)}\n`
        },
        onFirstMessage() {
          unproven.delete(run)
          noise = ''
        },
        noise: () => noise || undefined,
        end: () => void unproven.delete(run),
      }
      unproven.add(run)
      add('gateway', `It was started, as process ${pid}.`)
      return run
    },
    noise() {
      const [run, ...others] = unproven
      return others.length === 0 ? run?.noise() : undefined
    },
    wereNoisy: () => wereNoisy,
  }
}
