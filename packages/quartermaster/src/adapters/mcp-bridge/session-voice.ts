import type { Incoming, Parts } from './exchange-parts.ts'
import { listChanges } from './legacy-memory.ts'
import type { Session } from './legacy-session.ts'
import type { ServerRequests } from './server-requests.ts'

/** What the client hears of its sessions. To the client they are one. */
export interface SessionVoice {
  /** Passes on what the server says in a session. */
  forward(session: Session): (incoming: Incoming) => Promise<void>
  /** A session is over: everything that was asked in it is called back. */
  over(session: Session): Promise<void>
  /** A session took the place of another: whatever its server lists may have changed meanwhile. */
  renewed(session: Session): Promise<void>
}

export interface SessionVoiceDeps {
  readonly parts: Parts
  readonly serverRequests: ServerRequests
  /** Told after each message that was passed on. */
  onForwarded(): void
}

export function createSessionVoice({ parts, serverRequests, onForwarded }: SessionVoiceDeps): SessionVoice {
  const { facts, writer } = parts
  return {
    forward:
      session =>
      async ({ message, text }) => {
        facts.notice(message)
        const outward = serverRequests.outward(message, session)
        await writer.write(outward === message ? text : JSON.stringify(outward))
        onForwarded()
      },
    async over(session) {
      for (const message of serverRequests.recall(session)) await writer.write(JSON.stringify(message))
    },
    async renewed({ capabilities }) {
      // What is known of the tools stays: hardly any restart changes them.
      for (const change of listChanges(capabilities)) await writer.write(JSON.stringify(change))
    },
  }
}
