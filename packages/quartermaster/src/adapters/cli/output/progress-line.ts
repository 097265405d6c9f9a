import type { Progress } from '../../../contracts/index.ts'
import type { Cancel, Clock } from '../../../core/kernel/index.ts'
import { cut } from './layout.ts'
import type { Printer } from './terminal.ts'
import { escapeLine } from './terminal.ts'

interface ProgressLine {
  update(progress: Progress): void
  /** Clears the line while something else uses the terminal. Returns a function that resumes it. */
  pause(): () => void
  /** Clears the line, with the cursor back where it was before. */
  stop(): void
}

interface ProgressLineOptions {
  printer: Printer
  clock: Clock
  label: string
  /** Whether updates are written as lines of their own where there is no terminal. */
  lines: boolean
}

/** A line that flashes up for less than this only irritates. */
const PATIENCE_MS = 1_000
/** A log that stays silent for longer looks as if nothing goes on. */
const REPEAT_MS = 30_000
const CLEAR = '\r\u001b[2K'

/** What is going on and for how long: a live line on a terminal, or now and then a line in a log. */
export function createProgressLine(options: ProgressLineOptions): ProgressLine {
  return options.printer.isTerminal ? createLiveLine(options) : createLoggedLines(options)
}

function createLiveLine({ printer, clock, label }: ProgressLineOptions): ProgressLine {
  const startedAt = clock.now()
  let latest: Progress | undefined
  let drawn = false
  const draw = () => {
    drawn = true
    const text = latest === undefined ? label : `${label} · ${describe(latest)}`
    // The text is cut, the time never, so that a person sees it run.
    const since = ` · ${secondsSince(startedAt, clock)} s`
    const room = Math.max(0, (printer.width ?? 80) - 1 - since.length)
    void printer.write(CLEAR + printer.paint.dim(cut(escapeLine(text), room) + since))
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

function createLoggedLines({ printer, clock, label, lines }: ProgressLineOptions): ProgressLine {
  const startedAt = clock.now()
  let latest: Progress | undefined
  let nextAt = Number.NEGATIVE_INFINITY
  let cancel: Cancel = () => {}
  const write = (text: string) => void printer.write(`${escapeLine(`${label} · ${text}`)}\n`)
  function repeat() {
    if (latest) write(`${describe(latest)} · ${secondsSince(startedAt, clock)} s`)
    schedule()
  }
  function schedule() {
    cancel()
    cancel = clock.after(REPEAT_MS, repeat)
  }
  return {
    update(progress) {
      if (!lines) return
      latest = progress
      if (clock.now() < nextAt) return
      nextAt = clock.now() + PATIENCE_MS
      write(describe(progress))
      schedule()
    },
    pause() {
      cancel()
      return () => (latest ? schedule() : undefined)
    },
    stop: () => cancel(),
  }
}

function secondsSince(startedAt: number, clock: Clock): number {
  return Math.floor((clock.now() - startedAt) / 1_000)
}

function describe({ progress, total, message }: Progress): string {
  const amount = total === undefined ? String(progress) : `${progress}/${total}`
  return message === undefined ? amount : `${amount} ${message}`
}
