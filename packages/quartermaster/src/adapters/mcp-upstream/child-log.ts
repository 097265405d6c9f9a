import type { UpstreamLogLine } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { createSecretTexts, type Redact } from './secret-texts.ts'

/** Who said a line. */
export type LineOrigin = UpstreamLogLine['from']

export interface ChildLogOptions {
  readonly clock: Clock
  /** Texts that never stand in it. */
  readonly secrets?: readonly string[]
}

/** The newest lines that were said by a server and about it, whatever it says and however much. */
export interface ChildLog {
  add(from: LineOrigin, text: string): void
  /** Counts lines that were not even read. */
  drop(from: LineOrigin, lines: number): void
  /** Whether the next line of this origin would be dropped, so that it need not be made. */
  isFull(from: LineOrigin): boolean
  /** The newest, oldest first. */
  lines(options: { limit: number }): UpstreamLogLine[]
  readonly redact: Redact
}

const MOST_LINES = 1_000
const MOST_BYTES = 256 * 1024
/** A line is cut here. */
export const MOST_LINE_BYTES = 8 * 1024
/** Of one origin. More than that nobody reads, and keeping it costs time that belongs to calls. */
const MOST_A_SECOND = 200
const SECOND_MS = 1_000

export function createChildLog({ clock, secrets = [] }: ChildLogOptions): ChildLog {
  const { redact, longest } = createSecretTexts(secrets)
  const kept = createKeptLines()
  const windows = new Map<LineOrigin, Window>()

  function windowOf(from: LineOrigin): Window {
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
    kept.add({ at: clock.now(), from: 'gateway', text: droppedText(window.dropped) })
    window.dropped = 0
  }

  return {
    add(from, text) {
      const window = windowOf(from)
      if (window.added >= MOST_A_SECOND) {
        window.dropped++
        return
      }
      window.added++
      // Replaced before it is cut, so that no beginning of a secret is left at the end.
      kept.add({ at: clock.now(), from, text: cut(redact(text.slice(0, MOST_LINE_BYTES + longest))) })
    },
    drop(from, lines) {
      windowOf(from).dropped += lines
    },
    isFull: from => windowOf(from).added >= MOST_A_SECOND,
    lines({ limit }) {
      for (const window of windows.values()) settle(window)
      return kept.newest(limit)
    },
    redact,
  }
}

/** What came within a second. */
interface Window {
  readonly since: number
  added: number
  dropped: number
}

function droppedText(lines: number): string {
  return lines === 1 ? '… 1 line was dropped' : `… ${lines} lines were dropped`
}

function cut(text: string): string {
  // A character has three bytes at most for each unit of its text.
  if (text.length * 3 <= MOST_LINE_BYTES) return text
  const bytes = Buffer.from(text)
  return bytes.length <= MOST_LINE_BYTES ? text : `${bytes.toString('utf8', 0, MOST_LINE_BYTES - 6).replace(/�$/, '')}…`
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
      while (lines.length > MOST_LINES || bytes > MOST_BYTES) bytes -= Buffer.byteLength(lines.shift()?.text ?? '')
    },
    newest: limit => (limit > 0 ? lines.slice(-limit) : []),
  }
}
