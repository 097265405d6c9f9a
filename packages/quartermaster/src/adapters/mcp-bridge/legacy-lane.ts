import type { Notification, Request, Response } from '../mcp-wire/index.ts'
import { deliver } from './delivery.ts'
import { failureAnswer } from './errors.ts'
import type { Incoming, Parts } from './exchange-parts.ts'
import { createLastingSession } from './lasting-session.ts'
import { attemptWith } from './legacy-attempt.ts'
import { createLegacyMemory, INITIALIZED } from './legacy-memory.ts'
import { createOneWay } from './one-way.ts'
import { createOpenRequests, type OpenRequest } from './open-requests.ts'
import { createServerRequests } from './server-requests.ts'
import { createSessionVoice } from './session-voice.ts'

/** Passes on what clients from before 2026-07-28 say, in a session that survives its server. */
export interface LegacyLane {
  request(incoming: Incoming<Request>): Promise<void>
  notify(incoming: Incoming<Notification>): Promise<void>
  respond(response: Response): Promise<void>
  /** A client's `notifications/cancelled`. */
  cancel(incoming: Incoming<Notification>): Promise<void>
  /** The client says no more: whatever it is asked stays without an answer, and whoever asks is told so. */
  silence(): void
  close(signal: AbortSignal): Promise<void>
}

export function createLegacyLane(parts: Parts): LegacyLane {
  const { writer, closing } = parts
  const memory = createLegacyMemory()
  const serverRequests = createServerRequests()
  const voice = createSessionVoice({ parts, serverRequests, onForwarded: () => isSilent && refuse() })
  const lasting = createLastingSession({ parts, memory, voice })
  const requests = createOpenRequests(closing)
  const oneWay = createOneWay(lasting, parts)
  let isSilent = false

  function respond(response: Response): Promise<void> {
    return oneWay.send(session => {
      const inward = serverRequests.inward(response, session)
      return inward && JSON.stringify(inward)
    })
  }

  function refuse(): void {
    for (const refusal of serverRequests.refusals()) void respond(refusal)
  }

  async function answer(said: Incoming<Request>, open: OpenRequest): Promise<void> {
    const { message: request } = said
    const isOver = () => open.isCancelled || closing.aborted
    try {
      const incoming = await parts.attaching.prepare(said, open.controller.signal)
      const attempt = { incoming, open, lasting, voice, memory, parts }
      await oneWay.sent()
      const isRepeatable = () => open.terms?.isRepeatable ?? true
      await deliver(parts, {
        request,
        isOver,
        isRepeatable,
        attempt: (gateway, options) => attemptWith(gateway, attempt, options),
      })
    } catch (error) {
      if (!isOver()) await writer.write(JSON.stringify(failureAnswer(request, error)))
    }
  }

  return {
    request: incoming => requests.during(incoming.message, open => answer(incoming, open)),
    async notify(incoming) {
      memory.noteNotification(incoming)
      await oneWay.send(() => incoming.text)
      if (incoming.message.method === INITIALIZED.method) lasting.listen()
    },
    respond,
    async cancel(incoming) {
      const open = requests.find(incoming.message.params?.requestId)
      if (!open) return
      open.isCancelled = true
      if (open.isSent) await oneWay.send(() => incoming.text)
      // Some servers keep the connection of a cancelled request open for ever.
      open.controller.abort()
    },
    silence() {
      isSilent = true
      refuse()
    },
    close: lasting.close,
  }
}
