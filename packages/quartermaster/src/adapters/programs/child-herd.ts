import { spawn } from 'node:child_process'
import { AppError } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { type Child, createChild, type SpawnedProcess, STOP_TIMES, type StopTimes } from './child.ts'
import { childEnvironment } from './child-environment.ts'
import { folderMark, type Mark, markText, newRun } from './child-mark.ts'
import { createDescendants } from './descendants.ts'
import { createMarkedProcesses } from './marked-processes.ts'
import { createReaper } from './reaper.ts'

export interface ChildHerdOptions {
  readonly clock: Clock
  /** Whoever has its lock is the only one with children of this folder. */
  readonly dataDir: string
  /** Something a person should know about all children. */
  warn?(message: string): void
  /** Our own environment. */
  readonly inherited?: Readonly<Record<string, string | undefined>>
}

/** A program and how to run it. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  /** As configured. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly stop?: StopTimes | undefined
}

/** All programs of this gateway. None of them, and nothing they start, outlives it. */
export interface ChildHerd {
  /** Resolves when it runs. Rejects with the system's error when it cannot. */
  spawn(program: Program): Promise<Child>
  /** Kills what earlier runs have left behind, and answers how many processes that were. */
  sweep(): Promise<number>
  /** Ends them all, and takes no more; safe to call again. */
  close(): Promise<void>
  /** The process that ends them should we crash, while there is one. */
  readonly reaperPid: () => number | undefined
}

export function createChildHerd({ clock, dataDir, warn, inherited = process.env }: ChildHerdOptions): ChildHerd {
  const folder = folderMark(dataDir)
  const run = newRun()
  const children = new Set<Child>()
  const processes = createMarkedProcesses()
  const reaper = createReaper({
    run: `${folder}.${run}`,
    clock,
    onMissing: error =>
      warn?.(
        `Programs that upstreams have started may outlive a crash: no shell was found to see to it (${error.message}).`,
      ),
  })
  const descendants = createDescendants({ clock, folder, onChange: reaper.know })
  let started = 0
  let isClosed = false
  let closing: Promise<void> | undefined

  async function start({ command, args, env, cwd, stop = STOP_TIMES }: Program): Promise<Child> {
    if (isClosed) throw new AppError('STOPPING', 'The gateway is stopping; nothing is started any more.')
    const number = ++started
    const mark = markText({ folder, run, child: number })
    // First the one that ends it, so that there is no moment in which nobody would.
    reaper.ensure()
    const program = spawn(command, args, {
      cwd,
      env: childEnvironment({ inherited, configured: env, mark }),
      stdio: ['pipe', 'pipe', 'pipe'],
      shell: false,
      detached: true,
      windowsHide: true,
    })
    if (!hasStarted(program)) throw await failureOf(program)
    reaper.add(program.pid)
    descendants.add(program.pid)
    const isOwn = (found: Mark) => found.folder === folder && found.run === run && found.child === number
    const child = createChild({
      process: program,
      stop,
      async look() {
        // Nothing descends from one that has ended. What it has left may carry the mark, and have started what does not.
        if (!child.isRunning()) descendants.join(program.pid, await processes.find(isOwn))
        await descendants.look()
      },
      sweep: () => Promise.all([processes.kill(isOwn), descendants.kill(program.pid)]),
      onGone() {
        children.delete(child)
        reaper.drop(child.pid)
      },
    })
    children.add(child)
    return child
  }

  async function sweep(): Promise<number> {
    const isLeft = (found: Mark) => found.folder === folder && found.run !== run
    const left = await processes.find(isLeft)
    for (const pid of left) descendants.add(pid)
    if (left.length > 0) await descendants.look()
    const marked = await processes.kill(isLeft)
    const others = await Promise.all(left.map(descendants.kill))
    return new Set([...marked, ...others.flat()]).size
  }

  async function close(): Promise<void> {
    isClosed = true
    await Promise.all([...children].map(child => child.end()))
    await reaper.close()
  }

  return {
    spawn: start,
    sweep,
    close() {
      closing ??= close()
      return closing
    },
    reaperPid: () => reaper.pid(),
  }
}

function hasStarted(program: { readonly pid?: number | undefined }): program is SpawnedProcess {
  return program.pid !== undefined
}

function failureOf(program: { once(event: 'error', listener: (error: Error) => void): unknown }): Promise<Error> {
  return new Promise(resolve => {
    program.once('error', resolve)
  })
}
