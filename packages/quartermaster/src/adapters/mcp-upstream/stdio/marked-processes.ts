import { readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { type Mark, markIn } from './child-mark.ts'
import { wait } from './waiting.ts'

/** The processes of this machine, where they show their environment (Linux). */
export interface MarkedProcesses {
  /**
   * Kills the processes of this user that carry such a mark, until there are none. Answers how many there were: none where
   * processes do not show their environment.
   */
  kill(isWanted: (mark: Mark) => boolean): Promise<number>
}

/** Read at the same time: each is a file, and reading files has four threads for the whole gateway. */
const BATCH = 16
/** A killed process is seen until it is gone, and one that multiplies is looked for again. */
const MOST_PASSES = 200
const PAUSE_MS = 10

export function createMarkedProcesses(proc = '/proc'): MarkedProcesses {
  let waiting: Hunt[] = []
  let isRunning = false

  /** One look serves everybody who waits for one: many children may end at the same time. */
  async function run(): Promise<void> {
    if (isRunning) return
    isRunning = true
    while (waiting.length > 0) {
      const hunts = waiting
      waiting = []
      await pass(hunts)
      const again = hunts.filter(hunt => hunt.isHot && hunt.passes < MOST_PASSES)
      for (const hunt of hunts) if (!again.includes(hunt)) hunt.finish()
      waiting.push(...again)
      if (again.length > 0) await wait(PAUSE_MS)
    }
    isRunning = false
  }

  async function pass(hunts: readonly Hunt[]): Promise<void> {
    for (const hunt of hunts) {
      hunt.passes++
      hunt.isHot = false
    }
    const names = await readdir(proc).catch(() => [])
    const pids = names.filter(name => /^\d+$/.test(name)).map(Number)
    for (let from = 0; from < pids.length; from += BATCH)
      await Promise.all(pids.slice(from, from + BATCH).map(pid => look(pid, hunts)))
  }

  async function look(pid: number, hunts: readonly Hunt[]): Promise<void> {
    if (pid === process.pid) return
    // Of others, or gone meanwhile: either way none of ours.
    const environ = await readFile(`${proc}/${pid}/environ`).catch(() => undefined)
    const mark = environ && markIn(environ)
    const wanting = mark ? hunts.filter(hunt => hunt.isWanted(mark)) : []
    if (!mark || wanting.length === 0 || !(await isOurs(pid)) || !killMarked(pid, mark)) return
    for (const hunt of wanting) {
      hunt.isHot = true
      hunt.killed.add(pid)
    }
  }

  async function isOurs(pid: number): Promise<boolean> {
    const stats = await stat(`${proc}/${pid}`).catch(() => undefined)
    return stats !== undefined && stats.uid === process.getuid?.()
  }

  /** Looks once more without letting go: a number may have passed to another process since. */
  function killMarked(pid: number, { folder, run, child }: Mark): boolean {
    try {
      const mark = markIn(readFileSync(`${proc}/${pid}/environ`))
      if (mark?.folder !== folder || mark.run !== run || mark.child !== child) return false
      process.kill(pid, 'SIGKILL')
      return true
    } catch {
      // It ended by itself.
      return false
    }
  }

  return {
    kill: isWanted =>
      new Promise(resolve => {
        const killed = new Set<number>()
        waiting.push({ isWanted, killed, isHot: false, passes: 0, finish: () => resolve(killed.size) })
        void run()
      }),
  }
}

interface Hunt {
  isWanted(mark: Mark): boolean
  readonly killed: Set<number>
  /** Whether the last look found something. */
  isHot: boolean
  passes: number
  finish(): void
}
