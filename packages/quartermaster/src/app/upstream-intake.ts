import type { Upstreams } from '../adapters/mcp-upstream/index.ts'
import type { Generation } from '../core/catalogue/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import { upstreamUnit } from '../core/kernel/index.ts'

/** Lets agents have what is found out of upstreams, for whoever is to be answered with how these are. */
export interface UpstreamIntake {
  /** Takes in what is known of upstreams and agents do not have yet. Throws why it cannot be read. */
  read(): Promise<void>
  /** Resolves when agents have what was found out of upstreams. Whoever asks is answered even so if that takes long. */
  shown(): Promise<void>
  /** Resolves, in the same way, when what upstreams say of tools that came a moment ago has been looked at. */
  judged(): Promise<void>
}

export interface UpstreamIntakeDeps {
  /** Absent where none are mounted. */
  readonly upstreams: Pick<Upstreams, 'statuses' | 'readAgain' | 'met' | 'lookAgain'> | undefined
  readonly clock: Clock
  /** How long anybody waits. */
  readonly waitMs: number
  generation(): Pick<Generation, 'capabilities'>
  /** Takes in what upstreams bring now. */
  reloadDefinitions(): Promise<unknown>
}

export function createUpstreamIntake(deps: UpstreamIntakeDeps): UpstreamIntake {
  const { upstreams, clock, waitMs } = deps

  /** In a moment agents have what is there, and where nobody watches, only by this. */
  function isBehind(): boolean {
    const { capabilities } = deps.generation()
    return (upstreams?.statuses() ?? []).some(({ name, state, unseen, tools }) => {
      const known = capabilities.get(name)
      const isSeen = state === 'up' && unseen === undefined && known?.unseen !== undefined
      // What it says of others was held back since.
      const isHeld = known?.unit === upstreamUnit(name) && known.tools.length > tools.offered
      return isSeen || isHeld
    })
  }

  async function look(): Promise<void> {
    await upstreams?.lookAgain()
    if (isBehind()) await deps.reloadDefinitions()
  }

  /** Servers may speak of tools that were not there before, and be held back for it. */
  async function takeIn(): Promise<void> {
    await deps.reloadDefinitions()
    await look()
  }

  function inTime(work: () => Promise<void>): Promise<void> {
    return new Promise(resolve => {
      const cancel = clock.after(waitMs, resolve)
      const end = () => {
        cancel()
        resolve()
      }
      // Who told of the change has it reloaded as well, and says why that fails.
      work().then(end, end)
    })
  }

  return {
    async read() {
      const isNew = await upstreams?.readAgain()
      if (isNew) await upstreams?.met(waitMs)
      if (isNew || isBehind()) await inTime(takeIn)
    },
    shown: () => inTime(takeIn),
    judged: () => inTime(look),
  }
}
