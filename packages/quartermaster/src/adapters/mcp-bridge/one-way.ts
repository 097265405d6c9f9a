import type { Parts } from './exchange-parts.ts'
import type { LastingSession } from './lasting-session.ts'
import { postOneWay, type Session } from './legacy-session.ts'

/** Messages without an answer: they go one after the other, and before requests that came after them. */
export interface OneWay {
  /** Sends one in its turn, unless the session it would go to makes nothing of it. */
  send(toText: (session: Session) => string | undefined): Promise<void>
  /** Resolves when all that were to be sent so far are. */
  sent(): Promise<void>
}

export function createOneWay(lasting: Pick<LastingSession, 'with'>, parts: Parts): OneWay {
  let last: Promise<void> = Promise.resolve()

  async function post(toText: (session: Session) => string | undefined): Promise<void> {
    const session = await lasting.with(await parts.link.gateway())
    const text = toText(session)
    if (text !== undefined) await postOneWay(session, text, parts)
  }

  return {
    send(toText) {
      // A notice that gets lost with its server concerns nobody any more.
      last = last.then(() => post(toText)).catch(() => {})
      return last
    },
    sent: () => last,
  }
}
