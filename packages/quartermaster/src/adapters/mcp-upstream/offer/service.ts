import type { OwnDefinitions } from '../acquaintance/own-definitions.ts'
import type { Connection } from '../supervision/connection.ts'

/** What it takes to serve a request of an agent. */
export interface Serving {
  /** The connection through which an agent's requests go. */
  connectionOf(agent: string): Connection
  /** Throws for what a connection shows differently than it was looked at. */
  readonly check: OwnDefinitions['check']
}

/** Knows who serves what is asked of an upstream: definitions outlive the connections that they were made with. */
export interface Service {
  serving(): Serving
  handOver(to: () => Serving): void
}

export function createService(own: Serving): Service {
  let serving = () => own
  return {
    serving: () => serving(),
    handOver(to) {
      serving = to
    },
  }
}
