import { onTestFinished } from 'vitest'
import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import type { Id, Message } from '../../mcp-wire/index.ts'
import type { Channel, ChannelEnd } from '../peer/channel.ts'
import { type HttpChannelOptions, openHttpChannel } from '../transport/http-channel.ts'

/** A channel, and what came of it. */
interface HttpFixture {
  readonly channel: Channel
  readonly clock: FakeClock
  readonly messages: Message[]
  readonly lost: { id: Id; reason: string }[]
  readonly lines: string[]
  readonly ended: Promise<ChannelEnd>
  /** How often it was told that a connection was ended. */
  broken(): number
  /** How often it was told that something may have been missed. */
  missed(): number
  /** The next message that comes. */
  next(): Promise<Message>
  /** The next request that is lost. */
  nextLost(): Promise<{ id: Id; reason: string }>
}

/** Opens a channel to an address. Its clock stands still. */
export async function httpFixture(url: string, options: Partial<HttpChannelOptions> = {}): Promise<HttpFixture> {
  const clock = createFakeClock()
  const messages: Message[] = []
  const lost: { id: Id; reason: string }[] = []
  const lines: string[] = []
  let broken = 0
  let missed = 0
  let tellMessage: (message: Message) => void = () => {}
  let tellLost: (lost: { id: Id; reason: string }) => void = () => {}
  let tellEnd: (end: ChannelEnd) => void = () => {}
  const ended = new Promise<ChannelEnd>(resolve => {
    tellEnd = resolve
  })
  const open = openHttpChannel({
    name: 'files',
    url,
    headers: {},
    clock,
    log: text => void lines.push(text),
    ...options,
  })
  const channel = await open(
    {
      onMessage(message) {
        messages.push(message)
        tellMessage(message)
      },
      onLost(id, reason) {
        lost.push({ id, reason })
        tellLost({ id, reason })
      },
      onEnd: end => tellEnd(end),
      onBroken: () => void broken++,
      onMissed: () => void missed++,
    },
    new AbortController().signal,
  )
  onTestFinished(() => channel.close())
  return {
    channel,
    clock,
    messages,
    lost,
    lines,
    ended,
    broken: () => broken,
    missed: () => missed,
    next: () => new Promise(resolve => (tellMessage = resolve)),
    nextLost: () => new Promise(resolve => (tellLost = resolve)),
  }
}

/** A request of the legacy era. */
export function call(id: number, params: Record<string, unknown> = { name: 'read' }): Message {
  return { jsonrpc: '2.0', id, method: 'tools/call', params }
}

/** A request of the modern era. */
export function modernCall(id: number, params: Record<string, unknown> = { name: 'read' }): Message {
  return call(id, { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } })
}

export const INITIALIZE: Message = { jsonrpc: '2.0', id: 'first', method: 'initialize', params: {} }
export const PING: Message = { jsonrpc: '2.0', id: 'ping', method: 'ping' }
export const INITIALIZED: Message = { jsonrpc: '2.0', method: 'notifications/initialized' }
