import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from '../../core/kernel/index.ts'
import { MARK } from './child-mark.ts'
import { REAPER_SCRIPT } from './reaper-script.ts'
import { wait } from './waiting.ts'

export interface ReaperOptions {
  /** The mark of this run's children, without the child. */
  readonly run: string
  readonly clock: Clock
  /** Told once when there is none to be had. */
  onMissing(error: Error): void
}

/** A process that outlives us and ends what we started, should we end without doing it ourselves. */
export interface Reaper {
  /** Starts it unless it runs. To be called before a child is started. */
  ensure(): void
  /** A process group that is ours from now on. */
  add(group: number): void
  /** A group of which nothing is left. */
  drop(group: number): void
  /** All processes that are ours from now on, whatever their groups, with their starts: `123:45 678:90`. */
  know(processes: string): void
  pid(): number | undefined
  /** Sends it home: there is nothing left to do. */
  close(): Promise<void>
}

/** One that dies younger is not started again until there is a new child: something kills it, or there is no shell. */
const GROWN_UP_MS = 1_000
/** It has nothing to do but to end. One that somebody has stopped, or that finds no processor, must not keep us. */
const HOME_MS = 2_000

export function createReaper({ run, clock, onMissing }: ReaperOptions): Reaper {
  const groups = new Set<number>()
  let known = ''
  let current: ChildProcess | undefined
  let isMissing = process.platform === 'win32'
  let isClosed = false

  function ensure(): void {
    if (current || isMissing || isClosed) return
    const begun = clock.now()
    const reaper = launch(run)
    current = reaper
    reaper.once('error', error => {
      isMissing = true
      current = undefined
      onMissing(error)
    })
    reaper.once('exit', () => {
      if (current !== reaper) return
      current = undefined
      if (groups.size > 0 && clock.now() - begun >= GROWN_UP_MS) ensure()
    })
    for (const group of groups) tell(`add ${group}`)
    tell(`know ${known}`)
  }

  function tell(line: string): void {
    current?.stdin?.write(`${line}\n`)
  }

  return {
    ensure,
    add(group) {
      groups.add(group)
      tell(`add ${group}`)
    },
    drop(group) {
      if (groups.delete(group)) tell(`drop ${group}`)
    },
    know(processes) {
      known = processes
      tell(`know ${known}`)
    },
    pid: () => current?.pid,
    async close() {
      isClosed = true
      const reaper = current
      if (!reaper) return
      const ended = new Promise<void>(resolve => {
        reaper.once('exit', () => resolve())
      })
      // It did not keep us alive so far; now it is waited for.
      reaper.ref()
      reaper.stdin?.end('done\n')
      await wait(HOME_MS, ended)
      if (reaper.exitCode === null && reaper.signalCode === null) reaper.kill('SIGKILL')
      await ended
    },
  }
}

/** In a session of its own, so that no Ctrl-C reaches it; with nothing of ours open but the pipe. */
function launch(run: string): ChildProcess {
  const reaper = spawn('sh', ['-c', REAPER_SCRIPT, 'quartermaster-reaper', MARK, run], {
    cwd: '/',
    // Whoever ends us by descent must leave it alone: it is the one that ends what we have started.
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', [MARK]: 'none' },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  reaper.unref()
  // It is told of groups as a courtesy; when it is gone, its exit says so.
  reaper.stdin?.on('error', () => {})
  // A pipe is a socket, which the types do not know. It must not keep us alive.
  if (reaper.stdin && 'unref' in reaper.stdin && typeof reaper.stdin.unref === 'function') reaper.stdin.unref()
  return reaper
}
