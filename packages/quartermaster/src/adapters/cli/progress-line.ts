import type { Progress } from '../../contracts/index.ts'
import type { Cancel, Clock } from '../../core/kernel/index.ts'
import { escapeLine } from './escape.ts'
import type { Printer } from './printer.ts'
import { cut } from './width.ts'

export interface ProgressLine {
  update(progress: Progress): void
  /** Leaves the terminal to somebody else. Returns how to go on. */
  pause(): () => void
  /** Clears the line. Whoever prints afterwards finds the cursor where it was before. */
  stop(): void
}

export interface ProgressLineDeps {
  printer: Printer
  clock: Clock
  label: string
  /** Whether updates are written as lines of their own where there is no terminal. */
  lines: boolean
}

/** Quicker than this is no wait, and a line that flashes up only irritates. */
const PATIENCE_MS = 1_000
const CLEAR = '\r\u001b[2K'

/** What is going on and for how long: a line that renews itself on a terminal, or now and then a line in a log. */
export function createProgressLine(deps: ProgressLineDeps): ProgressLine {
  return deps.printer.isTerminal ? createLiveLine(deps) : createLoggedLines(deps)
}

function createLiveLine({ printer, clock, label }: ProgressLineDeps): ProgressLine {
  const startedAt = clock.now()
  let latest: Progress | undefined
  let drawn = false
  const draw = () => {
    drawn = true
    const seconds = Math.floor((clock.now() - startedAt) / 1_000)
    const text = [label, latest && describe(latest), `${seconds} s`].filter(Boolean).join(' · ')
    void printer.write(CLEAR + printer.paint.dim(cut(escapeLine(text), (printer.width ?? 80) - 1)))
  }
  let cancel: Cancel = clock.after(PATIENCE_MS, tick)
  function tick() {
    draw()
    cancel = clock.after(PATIENCE_MS, tick)
  }
  function stop() {
    cancel()
    if (drawn) void printer.write(CLEAR)
    drawn = false
  }
  return {
    update(progress) {
      latest = progress
      if (drawn) draw()
    },
    pause() {
      stop()
      return () => {
        cancel = clock.after(PATIENCE_MS, tick)
      }
    },
    stop,
  }
}

function createLoggedLines({ printer, clock, label, lines }: ProgressLineDeps): ProgressLine {
  let nextAt = Number.NEGATIVE_INFINITY
  return {
    update(progress) {
      if (!lines || clock.now() < nextAt) return
      nextAt = clock.now() + PATIENCE_MS
      void printer.write(`${escapeLine(`${label} · ${describe(progress)}`)}\n`)
    },
    pause: () => () => {},
    stop() {},
  }
}

function describe({ progress, total, message }: Progress): string {
  const amount = total === undefined ? String(progress) : `${progress}/${total}`
  return message === undefined ? amount : `${amount} ${message}`
}
