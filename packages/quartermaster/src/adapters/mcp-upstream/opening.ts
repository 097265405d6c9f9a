import { excerptOf } from '../../core/upstreams/index.ts'
import type { Meetings } from './acquaintance/meetings.ts'
import type { OwnConnection, Sightings } from './acquaintance/sightings.ts'
import type { Crowds } from './offer/crowds.ts'
import type { UpstreamSubscriptions } from './offer/upstream-subscriptions.ts'
import { GIVEN_UP_MS } from './session/given-up.ts'
import type { Session, SessionEvents } from './session/session.ts'
import type { ChildLog } from './stdio/child-log.ts'
import type { Connection } from './supervision/connection.ts'
import type { Connections } from './supervision/connections.ts'

/** Opens connections to a server, and hears what it tells on them. */
export interface Opening {
  /** Nobody uses a connection before what it shows was looked at. */
  open(opened: Opened, signal: AbortSignal): Promise<Session>
  /** Does what came in until then and found no session: changes the server told of, another policy, addresses to listen at. */
  up(opened: Opened, session: Session): void
}

/** Whose connection is opened, and which. */
export interface Opened {
  readonly agent: string | undefined
  readonly connection: Connection
}

export interface OpeningDeps extends EventParts {
  readonly meetings: Meetings
}

export function createOpening(deps: OpeningDeps): Opening {
  const { meetings, sightings, subscriptions } = deps
  return {
    async open(opened, signal) {
      const own = ownOf(opened)
      const events = eventsOf(opened, deps)
      const session = await (own ? meetings.as(own.agent, events, signal) : meetings.asAnybody(events, signal))
      try {
        await (own ? sightings.compare(own, session, signal) : sightings.take(session, signal))
        return session
      } catch (error) {
        await session.close()
        throw error
      }
    },
    up(opened, session) {
      sightings.up(ownOf(opened))
      subscriptions.apply(opened.connection, session)
    },
  }
}

function ownOf({ agent, connection }: Opened): OwnConnection | undefined {
  return agent === undefined ? undefined : { agent, connection }
}

export interface EventParts {
  readonly sightings: Sightings
  readonly subscriptions: UpstreamSubscriptions
  readonly connections: Pick<Connections, 'isSeparate'>
  readonly crowds: Crowds
  readonly log: ChildLog
  /** From here on every agent has a connection of its own. */
  separate(): void
  /** Whether there is no other in its place: what one that is left still tells of changes reaches nobody. */
  isInUse(connection: Connection): boolean
}

const CROWDED =
  `It asked something while calls of several clients were under way, or given up less than ${GIVEN_UP_MS / 60_000} minutes before, ` +
  'and was told no.'

function eventsOf(opened: Opened, parts: EventParts): SessionEvents {
  const { sightings, subscriptions, connections, crowds, separate, isInUse, log } = parts
  const { connection } = opened
  const own = ownOf(opened)
  const whose = own ? `[${own.agent}] ` : ''
  return {
    onListChanged() {
      if (!isInUse(connection)) return
      if (own) sightings.compareAgain(own)
      else sightings.again()
    },
    onResourceUpdated: uri => subscriptions.updated(connection, uri),
    onNotSubscribed(uri, reason) {
      log.add('gateway', `${whose}Nothing is heard of changes at "${excerptOf(log.redact(uri))}": ${excerptOf(reason)}`)
    },
    onLog: (level, text) => log.add('log', `${level}: ${text}`),
    onCrowded() {
      crowds.add()
      const next = connections.isSeparate() ? '' : ' From now on each agent has its own connection.'
      separate()
      log.add('gateway', `${whose}${CROWDED}${next}`)
    },
  }
}
