import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

/** How a program ended. */
export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** How long a program is waited for before the next, less polite word. */
export interface StopTimes {
  /** After its input was closed. */
  readonly graceMs: number
  /** After SIGTERM. */
  readonly termMs: number
}

export const STOP_TIMES: StopTimes = { graceMs: 2_000, termMs: 2_000 }
/** Calls wait for the next process, and a program that has not answered for seconds will hardly do so now. */
export const HANGING_TIMES: StopTimes = { graceMs: 0, termMs: 500 }

/** A program that runs, with whatever it starts. */
export interface Child {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<ChildExit>
  isRunning(): boolean
  /**
   * Closes its input, asks it to end, kills it; then whatever else it has started. One that has ended already leaves only
   * the last part. One that hangs would not hear the first. Resolves when nothing of it is left; safe to call again.
   */
  end(options?: { readonly isHanging?: boolean }): Promise<void>
}

export type SpawnedProcess = ChildProcessByStdio<Writable, Readable, Readable> & { readonly pid: number }

interface ChildOptions {
  readonly process: SpawnedProcess
  readonly stop: StopTimes
  /** Finds out what it has started, while that can be known. */
  look(): Promise<unknown>
  /** Kills what has left the group. */
  sweep(): Promise<unknown>
  onGone(): void
}

/** How often a group is looked at whose leader has ended; nothing tells of the others. */
const LOOK_MS = 20
/** After SIGKILL only the kernel can hold it, and that is not waited for. */
const KILL_MS = 2_000

export function createChild({ process: program, stop, look, sweep, onGone }: ChildOptions): Child {
  const { pid, stdin, stdout, stderr } = program
  let isRunning = true
  const exited = new Promise<ChildExit>(resolve => {
    program.once('exit', (code, signal) => {
      isRunning = false
      resolve({ code, signal })
    })
  })
  const group = createGroup(pid)
  // A pipe to a program that has ended breaks, and so does a signal to it; the exit tells.
  for (const part of [program, stdin, stdout, stderr]) part.on('error', () => {})
  let ending: Promise<void> | undefined

  async function end({ graceMs, termMs }: StopTimes): Promise<void> {
    // First of all: a program may end at once, and its children, and those of its group, then have no parent to be found by.
    await look()
    stdin.end()
    if (isRunning) await wait(graceMs, exited)
    if (group.isThere()) {
      group.signal('SIGTERM')
      if (!(await group.goneWithin(termMs))) group.signal('SIGKILL')
    }
    await Promise.all([wait(KILL_MS, exited), sweep()])
    for (const stream of [stdin, stdout, stderr]) stream.destroy()
    onGone()
  }

  return {
    pid,
    stdin,
    stdout,
    stderr,
    exited,
    isRunning: () => isRunning,
    end({ isHanging = false } = {}) {
      ending ??= end(isHanging ? HANGING_TIMES : stop)
      return ending
    },
  }
}

interface Group {
  isThere(): boolean
  signal(signal: NodeJS.Signals): void
  goneWithin(ms: number): Promise<boolean>
}

/** The process group of a program, which it leads. On Windows there are none, and the program stands for it. */
function createGroup(pid: number): Group {
  const target = process.platform === 'win32' ? pid : -pid

  function isThere(): boolean {
    try {
      process.kill(target, 0)
      return true
    } catch (error) {
      return isDenied(error)
    }
  }

  return {
    isThere,
    signal(signal) {
      try {
        process.kill(target, signal)
      } catch {
        // It is gone, or has become another user's and cannot be ended by us.
      }
    },
    async goneWithin(ms) {
      const end = performance.now() + ms
      while (isThere()) {
        if (performance.now() >= end) return false
        await wait(LOOK_MS)
      }
      return true
    },
  }
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPERM'
}

/**
 * Waits, but no longer than until something happens. Processes are not ours to hurry: their time is the machine's, also
 * where everything else has a clock of its own. And it keeps us alive, so that nothing is left half ended.
 */
export function wait(ms: number, until?: Promise<unknown>): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(end, ms)
    until?.then(end, end)
  })
}
