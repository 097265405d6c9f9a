import type { RpcChannel } from '../peer/peer.ts'
import type { Session, SessionEvents, SessionFacts } from '../peer/session.ts'

/** Ignores what a session announces. */
export const NO_EVENTS: SessionEvents = {
  onListChanged() {},
  onResourceUpdated() {},
  onLog() {},
  onAmbiguousQuestion() {},
}

/** What a server says about itself where it does not matter. */
export function factsOf(facts: Partial<SessionFacts> = {}): SessionFacts {
  const server = { name: 's', version: '1' }
  return { era: 'legacy', version: '2025-11-25', server, instructions: undefined, capabilities: {}, ...facts }
}

/** A session with a server that has tools, and can do no more than list them. */
export function listedSession(page: Session['page']): Session {
  const facts = factsOf({ capabilities: { tools: {} } })
  const session: Pick<Session, 'facts' | 'page' | 'listeningSince'> = { facts, page, listeningSince: () => 0 }
  return session as Session
}

/** A line on which nothing but requests matters, and that does not end unless it is said. */
export function bareLine(peer: object, ended: Promise<unknown> = new Promise(() => {})): RpcChannel {
  return { peer, ended } as unknown as RpcChannel
}
