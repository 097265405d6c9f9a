import type { Connection } from '../supervision/connection.ts'
import type { OwnDefinitions } from './own-definitions.ts'
import type { UpstreamSubscriptions } from './upstream-subscriptions.ts'

/** What it takes to serve a request of an agent. */
export interface Serving {
  /** The connection through which an agent's requests go. */
  connectionOf(agent: string): Connection
  /** Throws for what a connection shows differently than it was looked at. */
  readonly check: OwnDefinitions['check']
  /** Who hears of changes. */
  readonly subscriptions: UpstreamSubscriptions
}

/** Knows who serves what is asked of an upstream: definitions outlive the connections that they were made with. */
export interface Service {
  serving(): Serving
  /** Whatever comes goes to another one, and so does whoever waits to hear of changes. */
  handOver(to: () => Serving): void
}

export function createService(own: Serving): Service {
  let serving = () => own
  return {
    serving: () => serving(),
    handOver(to) {
      serving = to
      own.subscriptions.handOver(to().subscriptions)
    },
  }
}
