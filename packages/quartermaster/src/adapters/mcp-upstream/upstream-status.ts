import type { UpstreamConfig, UpstreamState, UpstreamStatus } from '../../contracts/index.ts'
import { hasLoginStep } from '../../core/kernel/index.ts'
import { countAsking, isWaiting, type ReviewedListing, wantsDefinition } from '../../core/upstreams/index.ts'
import { forPeople } from './session/trouble.ts'
import type { ConnectionState } from './supervision/connection-state.ts'
import type { Connections } from './supervision/connections.ts'

const STATES = {
  idle: 'idle',
  starting: 'starting',
  up: 'up',
  waiting: 'down',
  needsLogin: 'needsLogin',
  elsewhere: 'elsewhere',
  stopped: 'off',
} as const satisfies Record<ConnectionState['kind'], UpstreamState>

export interface StandingOptions {
  readonly name: string
  /** Why the configuration does not let it run, if it does not. */
  readonly off: string | undefined
  /** What fell before this counts as down. */
  readonly recoveringFrom: number
}

type ConnectionFacts = Pick<
  UpstreamStatus,
  'state' | 'reason' | 'since' | 'era' | 'server' | 'nextStartAt' | 'lastError'
>

/** Where the connection by which an upstream is known stands, and what went wrong last with anybody's. */
export function standingOf(
  connections: Pick<Connections, 'main' | 'lastError'>,
  { name, off, recoveringFrom }: StandingOptions,
): ConnectionFacts {
  const { main } = connections
  const { kind, since, nextStartAt, downSince, isBusy, ...trouble } = main.state()
  const isExcused = isBusy && kind !== 'idle' && downSince === undefined
  const fallen = isExcused ? 'recovering' : fallenState(downSince, recoveringFrom)
  const facts = main.session()?.facts
  const lastError = connections.lastError()
  return {
    state: off === undefined ? (fallen ?? stateOf(kind, trouble.reason, name)) : 'off',
    reason: off ?? forPeople(trouble),
    since: Math.round(downSince ?? since),
    ...(facts ? { era: facts.era, server: { name: facts.server.name, version: facts.server.version } } : {}),
    ...(nextStartAt === undefined ? {} : { nextStartAt }),
    ...(lastError ? { lastError } : {}),
  }
}

/** Nobody has to sign in where that would not help. */
function stateOf(kind: ConnectionState['kind'], reason: string, name: string): UpstreamState {
  return kind === 'needsLogin' && !hasLoginStep(reason, name) ? 'keyRefused' : STATES[kind]
}

function fallenState(downSince: number | undefined, recoveringFrom: number): UpstreamState | undefined {
  if (downSince === undefined) return undefined
  return downSince > recoveringFrom ? 'recovering' : 'down'
}

/** The agents whose own connection does not come up, and why. */
export function failingAgents({ byAgent }: Pick<Connections, 'byAgent'>): NonNullable<UpstreamStatus['failing']> {
  return [...byAgent()].flatMap(([agent, connection]) => {
    const { kind, downSince, ...trouble } = connection.state()
    return downSince === undefined && kind !== 'needsLogin' ? [] : [{ agent, reason: forPeople(trouble) }]
  })
}

/** How much there is of everything; what the owner leaves out does not count. */
export function countsOf(
  verdict: ReviewedListing | undefined,
  { connections, config }: { connections: Connections; config: UpstreamConfig },
): Pick<
  UpstreamStatus,
  | 'tools'
  | 'asks'
  | 'othersHeld'
  | 'warned'
  | 'unlisted'
  | 'isCut'
  | 'prompts'
  | 'resources'
  | 'connections'
  | 'pids'
  | 'restarts'
> {
  const { offered = [], held = [], unlisted, isCut } = verdict ?? {}
  const count = (list: readonly { kind: string }[], ...kinds: string[]) =>
    list.filter(({ kind }) => kinds.includes(kind)).length
  const isWanted = (one: ReviewedListing['held' | 'offered'][number]) => wantsDefinition(config, one)
  const all = connections.all()
  const left = held.filter(isWanted)
  const waiting = left.filter(isWaiting)
  const warned = offered.filter(one => one.isWarned && isWanted(one)).length
  const rejected = count(left, 'tool') - count(waiting, 'tool')
  const othersHeld = waiting.length - count(waiting, 'tool')
  const tools = offered.filter(one => one.kind === 'tool' && isWanted(one))
  return {
    tools: {
      offered: tools.length,
      held: count(waiting, 'tool'),
      ...(rejected > 0 ? { rejected } : {}),
    },
    ...(tools.length > 0
      ? {
          asks: countAsking(
            tools.map(({ value }) => value),
            config,
          ),
        }
      : {}),
    ...(othersHeld > 0 ? { othersHeld } : {}),
    ...(warned > 0 ? { warned } : {}),
    ...(unlisted ? { unlisted: [...unlisted] } : {}),
    ...(isCut ? { isCut } : {}),
    prompts: config.prompts ? count(offered, 'prompt') : 0,
    resources: config.resources ? count(offered, 'resource', 'template') : 0,
    connections: all.filter(one => one.session()).length,
    pids: connections.withLeft().flatMap(one => one.session()?.pids() ?? []),
    restarts: all.reduce((sum, one) => sum + one.restarts(), 0),
  }
}
