import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import { isRequest, type Message, type Params } from '../../mcp-wire/index.ts'
import type { Channel, ChannelEnd, ChannelEvents } from '../peer/channel.ts'
import { openSession } from '../peer/open-session.ts'
import type { Session, SessionEvents } from '../peer/session.ts'
import { NO_EVENTS } from './bare-session.ts'

/** A session with a server of 2025-11-25 that says nothing but what a test has it say. */
export interface SilentServer {
  readonly session: Session
  readonly clock: FakeClock
  /** Everything that it was sent. */
  readonly sent: readonly Message[]
  /** The ids of the requests that it was sent, oldest first. */
  idsOf(method: string): number[]
  /** `of`: in the exchange of which request. */
  say(message: Params, of?: number): void
  /** The way to it ends. */
  end(end: ChannelEnd): void
}

interface SilentServerOptions {
  readonly capabilities?: Params
  readonly events?: Partial<SessionEvents>
  /** Has a message fail on its way, by what it resolves to. */
  failing?(message: Message): Promise<Error | undefined>
}

export async function openSilentServer({
  capabilities = {},
  events = {},
  failing,
}: SilentServerOptions = {}): Promise<SilentServer> {
  const clock = createFakeClock()
  const sent: Message[] = []
  const heard: { by?: ChannelEvents } = {}
  const say = (message: Params, of?: number) =>
    heard.by?.onMessage({ jsonrpc: '2.0', ...message } as unknown as Message, of)
  const facts = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'silent', version: '1' } }
  const channel: Channel = {
    async send(message) {
      sent.push(message)
      const failure = failing && (await failing(message))
      if (failure) throw failure
      if (isRequest(message) && message.method === 'initialize') say({ id: message.id, result: facts })
    },
    close: async () => {},
    pids: () => [],
    hasExchanges: false,
  }
  const open = async (by: ChannelEvents) => {
    heard.by = by
    return channel
  }
  const client = { name: 'test', version: '1' }
  const options = { open, era: 'legacy', client, clock, events: { ...NO_EVENTS, ...events } } as const
  const session = await openSession(options, new AbortController().signal)
  const idsOf = (method: string) =>
    sent.flatMap(message => (isRequest(message) && message.method === method ? [Number(message.id)] : []))
  return { session, clock, sent, idsOf, say, end: end => heard.by?.onEnd(end) }
}
