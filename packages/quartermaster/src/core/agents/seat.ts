import type { AgentConfig, Caller, RunCallbacks } from '../../contracts/index.ts'
import type { Catalogue } from '../catalogue/index.ts'
import type { Health } from '../health/index.ts'
import type { Digest } from '../kernel/index.ts'
import type { Grant, Resolution } from './grants.ts'
import { renderView, type View } from './view.ts'

/**
 * The place from which calls are made: who the caller is and what they have. It is handed out by the core and cannot be
 * made up, and it always looks at the present: a grant that was taken away is gone with the next look.
 */
export interface Seat {
  readonly caller: Caller
  /** What the owner wrote down about the agent. */
  agent(): AgentConfig | undefined
  grant(tool: string): Grant | undefined
  view(): View
  readonly callbacks: RunCallbacks | undefined
}

export interface SeatDeps {
  readonly catalogue: Pick<Catalogue, 'current'>
  readonly health: Pick<Health, 'version' | 'availability' | 'missing'>
  readonly digest: Digest
}

export interface SeatOptions {
  readonly caller: Caller
  readonly callbacks?: RunCallbacks | undefined
  agent(): AgentConfig | undefined
  /** Resolves anew; called at most once per generation and `key`. */
  resolve(): Resolution
  /** Another object when the agent's configuration is another. */
  key(): unknown
}

export function createSeat(options: SeatOptions, { catalogue, health, digest }: SeatDeps): Seat {
  let resolved: { generation: number; key: unknown; resolution: Resolution } | undefined
  let rendered: { resolution: Resolution; health: number; view: View } | undefined

  function resolution(): Resolution {
    const generation = catalogue.current().number
    const key = options.key()
    if (resolved?.generation !== generation || resolved.key !== key)
      resolved = { generation, key, resolution: options.resolve() }
    return resolved.resolution
  }

  return {
    caller: options.caller,
    callbacks: options.callbacks,
    agent: () => options.agent(),
    grant: tool => resolution().grants.get(tool),
    view() {
      const current = resolution()
      const version = health.version()
      if (rendered?.resolution !== current || rendered.health !== version) {
        rendered = {
          resolution: current,
          health: version,
          view: renderView({ resolution: current, health, digest, allowed: options.agent()?.consent?.allow ?? [] }),
        }
      }
      return rendered.view
    },
  }
}
