import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, statSync } from 'node:fs'
import type { Clock } from '../../core/kernel/index.ts'
import { wait } from './child.ts'
import { isMarkedOtherwise } from './marked-processes.ts'

interface DescendantsOptions {
  readonly clock: Clock
  /** The mark of this gateway. A process with another mark belongs to another gateway, with all its descendants. */
  readonly folder: string
  /** Called with the children and their known descendants when these change: `123:45 678:90`, process ids and start times. */
  onChange(known: string): void
}

/**
 * What children have started, found by descent. Neither a session of its own nor an empty environment hides it, only the
 * end of its parent does; so it is looked for from time to time, and what was found is known until it ends.
 */
interface Descendants {
  /** A child, or another process that is to be ended with all that it has started. */
  add(child: number): void
  /** These are of a child, too, with all that they have started. */
  join(child: number, others: readonly number[]): void
  /** Finds what all of them have started by now. */
  look(): Promise<void>
  /** Kills what is known of a child, with whatever that has started, and forgets the child. Answers whom it killed. */
  kill(child: number): Promise<readonly number[]>
}

/** Most programs start their helpers at once. */
const SOON_MS = 1_000
const LOOK_MS = 5_000
/** A process takes 20 µs to look at. Where there are thousands the looks are fewer, and take half a percent of the time. */
const LOOK_MS_PER_PROCESS = 4
/** Known of one child. A program that starts more of them will hardly have taken the mark from each. */
const MOST_KIN = 256
/** A killed process is seen until it is gone, and one that multiplies is looked for again. */
const MOST_PASSES = 100
const PAUSE_MS = 10

interface Family {
  readonly root: ProcessEntry
  kin: readonly ProcessEntry[]
}

export function createDescendants({ clock, folder, onChange }: DescendantsOptions): Descendants {
  const table = createProcessTable(clock)
  const families = new Map<number, Family>()
  let told = ''
  let seen = 0
  let planned: { readonly at: number; cancel(): void } | undefined
  let looking = Promise.resolve()
  let next: Promise<void> | undefined

  /** One after the other. A scan that has not begun serves all callers. */
  function look(): Promise<void> {
    next ??= looking.then(() => {
      next = undefined
      looking = pass()
      return looking
    })
    return next
  }

  async function pass(): Promise<void> {
    try {
      const all = await table.all()
      seen = all.length
      const tree = createProcessTree(all, entry => table.isMarkedOtherwise(entry, folder))
      for (const family of families.values()) {
        const { root, kin } = family
        const living = tree
          .from([root, ...kin, ...tree.groupOf(root)])
          .filter(entry => entry.pid !== root.pid && table.isOurs(entry))
        family.kin = living.slice(0, MOST_KIN)
      }
      tell()
    } catch {
      // Processes cannot be read now, perhaps for want of a descriptor. The known ones stay until the next scan.
    }
  }

  function tell(): void {
    const entries = [...families.values()].flatMap(({ root, kin }) => [root, ...kin])
    const known = entries.map(({ pid, start }) => `${pid}:${start}`).join(' ')
    if (known === told) return
    told = known
    onChange(known)
  }

  function plan(ms: number): void {
    const at = clock.now() + ms
    if (planned && planned.at <= at) return
    planned?.cancel()
    planned = { at, cancel: clock.after(ms, () => void lookAndPlan()) }
  }

  async function lookAndPlan(): Promise<void> {
    planned = undefined
    await look()
    if (families.size > 0) plan(Math.max(LOOK_MS, seen * LOOK_MS_PER_PROCESS))
  }

  function forget(child: number): void {
    families.delete(child)
    tell()
    if (families.size > 0) return
    planned?.cancel()
    planned = undefined
  }

  return {
    look,
    add(child) {
      if (!table.isShown) return
      // An ended process may have left others in its group.
      const root = table.find(child) ?? { pid: child, parent: 0, group: child, start: 0 }
      families.set(child, { root, kin: [] })
      tell()
      plan(SOON_MS)
    },
    join(child, others) {
      const family = families.get(child)
      if (family) family.kin = [...family.kin, ...others.flatMap(pid => table.find(pid) ?? [])]
    },
    async kill(child) {
      const family = families.get(child)
      if (!family) return []
      const killed = new Set<number>()
      for (let passes = 0; family.kin.length > 0 && passes < MOST_PASSES; passes++) {
        // All are known before the first one ends and leaves its children without a parent.
        await look()
        for (const one of family.kin) if (table.kill(one)) killed.add(one.pid)
        await wait(PAUSE_MS)
      }
      forget(child)
      return [...killed]
    },
  }
}

interface ProcessTree {
  /** Which of these still run, and all their descendants. */
  from(known: readonly ProcessEntry[]): ProcessEntry[]
  /** The processes in the group of a former leader, unless its process id was reused. */
  groupOf(leader: ProcessEntry): readonly ProcessEntry[]
}

function createProcessTree(all: readonly ProcessEntry[], isOther: (entry: ProcessEntry) => boolean): ProcessTree {
  const byPid = new Map(all.map(entry => [entry.pid, entry]))
  const byParent = groupedBy(all, ({ parent }) => parent)
  const byGroup = groupedBy(all, ({ group }) => group)

  return {
    from(known) {
      const found = new Set<ProcessEntry>()
      for (const { pid, start } of known) {
        const entry = byPid.get(pid)
        if (entry?.start === start && !isOther(entry)) found.add(entry)
      }
      // A set goes on with what is added to it meanwhile.
      for (const parent of found)
        for (const child of byParent.get(parent.pid) ?? []) if (!found.has(child) && !isOther(child)) found.add(child)
      return [...found]
    },
    groupOf({ pid, start }) {
      const leader = byPid.get(pid)
      return leader && leader.start !== start ? [] : (byGroup.get(pid) ?? [])
    },
  }
}

function groupedBy(all: readonly ProcessEntry[], keyOf: (entry: ProcessEntry) => number): Map<number, ProcessEntry[]> {
  const grouped = new Map<number, ProcessEntry[]>()
  for (const entry of all) {
    const others = grouped.get(keyOf(entry))
    if (others) others.push(entry)
    else grouped.set(keyOf(entry), [entry])
  }
  return grouped
}

/** A process as Linux shows it. Numbers are given again; a number and a start are one process for ever. */
interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** In ticks since the machine was started. */
  readonly start: number
}

/** The processes of this machine, where they are shown as files (Linux); elsewhere there are none. */
interface ProcessTable {
  /** Whether they are. */
  readonly isShown: boolean
  /** One that runs, if it can be seen. */
  find(pid: number): ProcessEntry | undefined
  /**
   * All other processes; this one is not among them, so that nothing is found through it. Yields to other work in between.
   * Rejects when they cannot be read.
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

function createProcessTable(clock: Pick<Clock, 'breathe'>): ProcessTable {
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
        // It has ended already.
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
