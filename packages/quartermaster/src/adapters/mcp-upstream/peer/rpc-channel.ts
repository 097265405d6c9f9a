import type { Clock } from '../../../core/kernel/index.ts'
import { type Id, isRequest, type Params } from '../../mcp-wire/index.ts'
import { type Channel, type ChannelEnd, ChannelFailure, type OpenChannel } from './channel.ts'
import { createPeer, type Peer, type PeerOptions } from './peer.ts'

/** A channel with a JSON-RPC peer. */
export interface RpcChannel {
  readonly channel: Channel
  readonly peer: Peer
  /** Sends a request whose id the server refers to. */
  begin(...request: Parameters<Peer['request']>): Begun
  heardAt(): number
  readonly ended: Promise<ChannelEnd>
  /** Ends it for a reason of the caller. Resolves when nothing of it is left. */
  close(end?: ChannelEnd): Promise<void>
}

interface Begun {
  /** Nothing where it could not be sent. */
  readonly id: Id | undefined
  readonly answer: Promise<Params>
}

/** Handles what the server sends. It is set after the handshake, because its abilities depend on that. */
export interface Listener extends Omit<PeerOptions, 'cancelBy' | 'clock'> {
  /** Notifications may have been missed. */
  missed?(): void
}

interface RpcChannelOptions {
  readonly open: OpenChannel
  readonly clock: Clock
  /** Read for every message, so that it may be set later. */
  listener(): Listener
  isModern(): boolean
}

const TOOLS_CHANGED = 'notifications/tools/list_changed'
const CLOSED: ChannelEnd = { kind: 'closed', reason: 'The connection was closed.' }

export async function openRpcChannel(
  { open, clock, listener, isModern }: RpcChannelOptions,
  signal: AbortSignal,
): Promise<RpcChannel> {
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
      // Another instance of the server may not have notified of its changes.
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

/** A channel may report its end before it was returned. */
const NOT_OPEN: Channel = {
  send: () => Promise.reject(new ChannelFailure({ kind: 'closed', reason: 'The connection is not open yet.' })),
  close: async () => {},
  pids: () => [],
  hasExchanges: false,
}
