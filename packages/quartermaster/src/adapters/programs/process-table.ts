import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, statSync } from 'node:fs'
import type { Clock } from '../../core/kernel/index.ts'
import { isMarkedOtherwise } from './child-mark.ts'

/** A process as Linux shows it. Numbers are given again; a number and a start are one process for ever. */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** In ticks since the machine was started. */
  readonly start: number
}

/** The processes of this machine, where they are shown as files (Linux); elsewhere there are none. */
export interface ProcessTable {
  /** Whether they are. */
  readonly isShown: boolean
  /** One that runs, if it can be seen. */
  find(pid: number): ProcessEntry | undefined
  /**
   * All others that run; we are not among them, so that nothing is found by way of us. Whoever has something to do has a
   * turn in between. Rejects when it cannot be known.
   */
  all(): Promise<ProcessEntry[]>
  isOurs(entry: ProcessEntry): boolean
  /** Whether its environment says that it is none of this folder's. */
  isMarkedOtherwise(entry: ProcessEntry, folder: string): boolean
  /** Kills it if it still is that process, and this user's. Answers whether it was. */
  kill(entry: ProcessEntry): boolean
}

/** Read at one go: half a millisecond, for these files are memory. By threads each of them would cost three times as much. */
const BATCH = 32

export function createProcessTable(clock: Pick<Clock, 'breathe'>): ProcessTable {
  const isShown = showsUs()
  const buffer = Buffer.alloc(4_096)

  function read(pid: number): ProcessEntry | undefined {
    const file = openSync(`/proc/${pid}/stat`, 'r')
    try {
      return parseStat(pid, buffer.toString('latin1', 0, readSync(file, buffer)))
    } finally {
      closeSync(file)
    }
  }

  function find(pid: number): ProcessEntry | undefined {
    try {
      return isShown ? read(pid) : undefined
    } catch {
      // It is gone, or there is no descriptor to read it with.
      return undefined
    }
  }

  /** As one of many: that it cannot be seen for a moment must not look as if it had ended. */
  function findForSure(pid: number): ProcessEntry | undefined {
    try {
      return read(pid)
    } catch (error) {
      if (isHidden(error)) return undefined
      throw error
    }
  }

  function isOurs({ pid }: ProcessEntry): boolean {
    return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === process.getuid?.()
  }

  return {
    isShown,
    find,
    async all() {
      const found: ProcessEntry[] = []
      const names = isShown ? readdirSync('/proc') : []
      const pids = names.filter(name => /^\d+$/.test(name)).map(Number)
      for (const [index, pid] of pids.entries()) {
        if (index % BATCH === BATCH - 1) await clock.breathe()
        const entry = pid === process.pid ? undefined : findForSure(pid)
        if (entry) found.push(entry)
      }
      return found
    },
    isOurs,
    isMarkedOtherwise({ pid }, folder) {
      try {
        return isMarkedOtherwise(readFileSync(`/proc/${pid}/environ`), folder)
      } catch {
        // Gone, or another user's, which is left alone by everybody here.
        return false
      }
    },
    kill(entry) {
      try {
        return find(entry.pid)?.start === entry.start && isOurs(entry) && process.kill(entry.pid, 'SIGKILL')
      } catch {
        // It ended by itself.
        return false
      }
    },
  }
}

/** Whether the numbers there are those by which we know processes: `/proc` may be that of another namespace. */
function showsUs(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid)
  } catch {
    return false
  }
}

/** Gone meanwhile, or not for us to see. Anything else, as too many open files, says nothing about the process. */
function isHidden(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM'
}

/** Fields 3, 4, 5 and 22 of a line like `123 (name) S 1 …` (proc_pid_stat(5)); a name may have anything in it. */
function parseStat(pid: number, line: string): ProcessEntry | undefined {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ', 20)
  const [state, parent, group] = fields
  // It has ended, and its parent has not looked yet.
  if (state === 'Z' || state === 'X') return undefined
  return { pid, parent: Number(parent), group: Number(group), start: Number(fields[19]) }
}
