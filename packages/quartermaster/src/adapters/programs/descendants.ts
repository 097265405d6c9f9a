import type { Clock } from '../../core/kernel/index.ts'
import { createProcessTable, type ProcessEntry } from './process-table.ts'
import { wait } from './waiting.ts'

export interface DescendantsOptions {
  readonly clock: Clock
  /** Whose they are, as marks name it. What is marked otherwise is somebody else's, with all that it has started. */
  readonly folder: string
  /** Told of the children and all that is known of them whenever that has changed: `123:45 678:90`, numbers and starts. */
  onChange(known: string): void
}

/**
 * What children have started, found by descent. Neither a session of its own nor an empty environment hides it, only the
 * end of its parent does; so it is looked for from time to time, and what was found is known until it ends.
 */
export interface Descendants {
  /** A child, or whoever else is to be ended with all that it has started. */
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
/** Known of one child. Whoever starts more of them will hardly have taken the mark from each. */
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

  /** One after the other. One that has not begun serves everybody who wants one. */
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
      // Nothing can be seen now, for want of a descriptor perhaps. What is known stays, and the next look is not far.
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
      // One that has ended already may have left others in its group.
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
        // All are known before the first one ends, and leaves its own to nobody.
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
  /** What lives of these, and all that descends from it. */
  from(known: readonly ProcessEntry[]): ProcessEntry[]
  /** What is in the group that one has led, unless its number is another's by now. */
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
