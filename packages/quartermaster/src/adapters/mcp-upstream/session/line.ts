import type { Clock } from '../../../core/kernel/index.ts'
import { type Id, isRequest, type Params } from '../../mcp-wire/index.ts'
import { type Channel, type ChannelEnd, ChannelFailure, type OpenChannel } from './channel.ts'
import { createPeer, type Peer, type PeerOptions } from './peer.ts'

/** A channel with somebody at our end who speaks JSON-RPC. */
export interface Line {
  readonly channel: Channel
  readonly peer: Peer
  /** Makes a request of which the server speaks by its id. */
  begin(...request: Parameters<Peer['request']>): Begun
  heardAt(): number
  /** Resolves when it is over. */
  readonly ended: Promise<ChannelEnd>
  /** Ends it for a reason that was found out above. Resolves when nothing of it is left. */
  close(end?: ChannelEnd): Promise<void>
}

export interface Begun {
  /** Nothing where it could not be sent. */
  readonly id: Id | undefined
  readonly answer: Promise<Params>
}

/** Who is at our end. It is set after the first words, because what may be asked depends on them. */
export interface Listener extends Omit<PeerOptions, 'cancelBy' | 'clock'> {
  /** Something may have changed that nobody was there to be told. */
  missed?(): void
}

export interface LineOptions {
  readonly open: OpenChannel
  readonly clock: Clock
  /** Asked for every message, so that it may be decided later. */
  listener(): Listener
  isModern(): boolean
}

const TOOLS_CHANGED = 'notifications/tools/list_changed'
const CLOSED: ChannelEnd = { kind: 'closed', reason: 'The connection was closed.' }

export async function openLine({ open, clock, listener, isModern }: LineOptions, signal: AbortSignal): Promise<Line> {
  const way: { channel?: Channel } = {}
  let heard = clock.now()
  let tell: (end: ChannelEnd) => void = () => {}
  const ended = new Promise<ChannelEnd>(resolve => {
    tell = resolve
  })
  let sentId: Id | undefined
  const outgoing: Channel = {
    ...NOT_OPEN,
    send(message, options) {
      if (isRequest(message)) sentId = message.id
      return (way.channel ?? NOT_OPEN).send(message, options)
    },
    withdraw: id => way.channel?.withdraw?.(id) ?? false,
  }
  const peer = createPeer(() => outgoing, {
    clock,
    serve: (...asked) => listener().serve(...asked),
    notice: (...told) => listener().notice(...told),
    isAsked: caller => listener().isAsked?.(caller) === true,
    cancelBy: () => (isModern() && way.channel?.hasExchanges ? 'exchange' : 'notification'),
  })
  function end(why: ChannelEnd): void {
    peer.end(why)
    tell(why)
  }
  const channel = await open(
    {
      onMessage(message, of) {
        heard = clock.now()
        peer.receive(message, of)
      },
      onPart() {
        heard = clock.now()
      },
      onEnd: end,
      onLost: peer.lose,
      // Whoever answers now has told nobody of what is different since.
      onBroken: () => listener().notice(TOOLS_CHANGED, {}),
      onMissed: () => listener().missed?.(),
    },
    signal,
  )
  way.channel = channel
  return {
    channel,
    peer,
    begin(...request) {
      sentId = undefined
      // It is sent before this returns, or not at all.
      const answer = peer.request(...request)
      return { id: sentId, answer }
    },
    heardAt: () => heard,
    ended,
    async close(why = CLOSED) {
      end(why)
      await channel.close(why)
    },
  }
}

/** A channel may tell of its end before it was handed over. */
const NOT_OPEN: Channel = {
  send: () => Promise.reject(new ChannelFailure({ kind: 'closed', reason: 'The connection is not open yet.' })),
  close: async () => {},
  pids: () => [],
  hasExchanges: false,
}
