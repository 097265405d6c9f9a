import type { Dependency } from '../catalogue/index.ts'
import type { Cancel, Clock } from '../kernel/index.ts'

/** Before another look at what had news during the last one: a probe that itself makes news must not spin. */
const PAUSE_MS = 20

/** Dependencies that tell when a look would find something new. However much they tell, each is looked at once at a time. */
export interface News {
  /** Listens to these and to no others. */
  follow(dependencies: Iterable<Dependency>): void
}

interface Followed {
  stop: Cancel
  isLooking: boolean
  /** There was news during the look. */
  isStale: boolean
}

/** `look` never rejects. */
export function createNews({ clock, look }: { clock: Clock; look(dependency: Dependency): Promise<void> }): News {
  const followed = new Map<Dependency, Followed>()

  async function hear(dependency: Dependency, one: Followed): Promise<void> {
    if (followed.get(dependency) !== one) return
    one.isStale = one.isLooking
    if (one.isLooking) return
    one.isLooking = true
    await look(dependency)
    const again = () => {
      one.isLooking = false
      if (one.isStale) void hear(dependency, one)
    }
    if (one.isStale) clock.after(PAUSE_MS, again)
    else again()
  }

  function begin(dependency: Dependency): void {
    const one: Followed = { stop: () => {}, isLooking: false, isStale: false }
    followed.set(dependency, one)
    try {
      one.stop = dependency.onChange?.(() => void hear(dependency, one)) ?? one.stop
    } catch {
      // Its author's own code. Without its news it is looked at as all others are.
    }
  }

  function end(dependency: Dependency, { stop }: Followed): void {
    followed.delete(dependency)
    try {
      stop()
    } catch {
      // Its author's own code; whatever it still tells is not heard.
    }
  }

  return {
    follow(dependencies) {
      const wanted = new Set([...dependencies].filter(({ onChange }) => onChange !== undefined))
      for (const dependency of wanted) if (!followed.has(dependency)) begin(dependency)
      for (const [dependency, one] of followed) if (!wanted.has(dependency)) end(dependency, one)
    },
  }
}
