import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { wait } from './child.ts'

/** The processes of this machine, where they show their environment (Linux). */
interface MarkedProcesses {
  /** The processes of this user that carry such a mark: none where processes do not show their environment. */
  find(isWanted: (mark: Mark) => boolean): Promise<readonly number[]>
  /** Kills them until there are none, and answers which there were. */
  kill(isWanted: (mark: Mark) => boolean): Promise<readonly number[]>
}

/** Read at the same time: each is a file, and reading files has four threads for the whole gateway. */
const BATCH = 16
/** A killed process is seen until it is gone, and one that multiplies is looked for again. */
const MOST_PASSES = 200
const PAUSE_MS = 10

export function createMarkedProcesses(): MarkedProcesses {
  let waiting: Hunt[] = []
  let isRunning = false

  /** One scan serves all callers: many children may end at the same time. */
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
    await eachMarked(async (pid, mark) => {
      const wanting = hunts.filter(hunt => hunt.isWanted(mark))
      if (wanting.length === 0 || !(await isOurs(pid)) || !killMarked(pid, mark)) return
      for (const hunt of wanting) {
        hunt.isHot = true
        hunt.killed.add(pid)
      }
    })
  }

  async function eachMarked(visit: (pid: number, mark: Mark) => Promise<void>): Promise<void> {
    const names = await readdir('/proc').catch(() => [])
    const pids = names.filter(name => /^\d+$/.test(name)).map(Number)
    for (let from = 0; from < pids.length; from += BATCH)
      await Promise.all(
        pids.slice(from, from + BATCH).map(async pid => {
          const mark = await markOf(pid)
          if (mark) await visit(pid, mark)
        }),
      )
  }

  async function markOf(pid: number): Promise<Mark | undefined> {
    if (pid === process.pid) return undefined
    // Of others, or gone meanwhile: either way none of ours.
    const environ = await readFile(`/proc/${pid}/environ`).catch(() => undefined)
    return environ && markIn(environ)
  }

  async function isOurs(pid: number): Promise<boolean> {
    const stats = await stat(`/proc/${pid}`).catch(() => undefined)
    return stats !== undefined && stats.uid === process.getuid?.()
  }

  /** Looks once more without letting go: a number may have passed to another process since. */
  function killMarked(pid: number, { folder, run, child }: Mark): boolean {
    try {
      const mark = markIn(readFileSync(`/proc/${pid}/environ`))
      if (mark?.folder !== folder || mark.run !== run || mark.child !== child) return false
      process.kill(pid, 'SIGKILL')
      return true
    } catch {
      // It has ended already.
      return false
    }
  }

  return {
    async find(isWanted) {
      const found: number[] = []
      await eachMarked(async (pid, mark) => {
        if (isWanted(mark) && (await isOurs(pid))) found.push(pid)
      })
      return found
    },
    kill: isWanted =>
      new Promise(resolve => {
        const killed = new Set<number>()
        waiting.push({ isWanted, killed, isHot: false, passes: 0, finish: () => resolve([...killed]) })
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

/** The variable by which a child and whatever it starts are known, whatever groups and sessions they form. */
export const MARK = 'QUARTERMASTER_UPSTREAM'

/** The mark of a child process: its data folder, the run of the gateway, and a number. */
export interface Mark {
  readonly folder: string
  readonly run: string
  readonly child: number
}

export function markText({ folder, run, child }: Mark): string {
  return `${folder}.${run}.${child}`
}

/** The mark in a text that is exactly one. */
function parseMark(text: string): Mark | undefined {
  const [, folder, run, child] = /^([0-9a-f]{16})\.([0-9a-f]{16})\.(\d{1,15})$/.exec(text) ?? []
  return folder !== undefined && run !== undefined ? { folder, run, child: Number(child) } : undefined
}

/**
 * What a data folder is called in marks. Two containers may each have a folder of this path and see each other's
 * processes, so the folder itself is part of it.
 */
export function folderMark(dataDir: string): string {
  return createHash('sha256').update(identityOf(dataDir)).digest('hex').slice(0, 16)
}

function identityOf(dataDir: string): string {
  try {
    const { dev, ino } = statSync(dataDir)
    return `${realpathSync(dataDir)}\0${dev}:${ino}`
  } catch {
    // A folder that is not there yet has only its path.
    return resolve(dataDir)
  }
}

export function newRun(): string {
  return randomBytes(8).toString('hex')
}

/** The mark in an environment as Linux shows it. */
function markIn(environ: Buffer): Mark | undefined {
  const text = textIn(environ)
  return text === undefined ? undefined : parseMark(text)
}

/**
 * Whether an environment has a mark that is none of this folder's: of a gateway that was started from inside a program, and goes on
 * without it (`none`), or of such a gateway's own programs. What has none at all has lost it.
 */
export function isMarkedOtherwise(environ: Buffer, folder: string): boolean {
  const text = textIn(environ)
  return text !== undefined && parseMark(text)?.folder !== folder
}

/** The value of the variable in a list of `NAME=value`, each ended by a zero byte. */
function textIn(environ: Buffer): string | undefined {
  for (let at = environ.indexOf(`${MARK}=`); at >= 0; at = environ.indexOf(`${MARK}=`, at + 1)) {
    if (at > 0 && environ[at - 1] !== 0) continue
    const end = environ.indexOf(0, at)
    return environ.toString('latin1', at + MARK.length + 1, end < 0 ? environ.length : end)
  }
  return undefined
}
