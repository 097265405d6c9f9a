import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { RpcError, SendFailure } from '../peer/channel.ts'
import { createModernSubscriptions } from '../peer/modern-subscriptions.ts'
import type { RpcChannel } from '../peer/peer.ts'
import { factsOf, NO_EVENTS } from './bare-session.ts'

/** A line on which each request is answered by what a test gives. */
export function lineTo(request: (...asked: never[]) => Promise<unknown>, close = async () => {}): RpcChannel {
  let id = 0
  const begin = (...asked: never[]) => ({ id: id++, answer: request(...asked) })
  return { begin, close, ended: new Promise(() => {}) } as unknown as RpcChannel
}

/** A server that tells as long as a test wants. */
export function telling() {
  const clock = createFakeClock()
  const streams: {
    uris: unknown
    signal: AbortSignal
    end(): void
    refuse(code: number, uri?: string): void
    lose(retryAfterMs?: number): void
  }[] = []
  const lines: string[] = []
  const updated: string[] = []
  const changed: string[] = []
  const peer = {
    request: (_: string, params: Params, { signal }: { signal: AbortSignal }) =>
      new Promise((end, reject) => {
        const { resourceSubscriptions } = params['notifications'] as Params
        const refuse = (code: number, uri?: string) =>
          reject(new RpcError({ code, message: 'No.', data: uri === undefined ? undefined : { uri } }))
        const lose = (retryAfterMs?: number) =>
          reject(new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs }))
        streams.push({ uris: resourceSubscriptions, signal, end: () => end({}), refuse, lose })
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  }
  const listening = createModernSubscriptions({
    rpc: lineTo(peer.request),
    facts: factsOf({ era: 'modern', capabilities: { tools: {} } }),
    clock,
    events: {
      ...NO_EVENTS,
      onListChanged: kind => void changed.push(kind),
      onResourceUpdated: uri => void updated.push(uri),
      onLog: (_, text) => void lines.push(text),
    },
    envelope: () => ({}),
  })
  const open = () => streams.filter(({ signal }) => !signal.aborted).map(({ uris }) => uris)
  return { clock, streams, updated, changed, lines, listening, open }
}

/** A server with its stream, and another one that was asked for beside it. */
export async function askingBeside() {
  const fixture = telling()
  fixture.listening.acknowledged()
  fixture.listening.watch(new Set(['x://1']))
  fixture.listening.acknowledged()
  fixture.listening.watch(new Set(['x://1', 'x://2']))
  return fixture
}

/** What a server says of the stream that it was asked for at this place in the order. */
export const acknowledgementOf = (id: number, notifications: Params) => ({
  notifications,
  _meta: { 'io.modelcontextprotocol/subscriptionId': id },
})

/** Does not let the last stream through, whenever there is one, until something is so. */
export async function loseAll({ clock, streams }: ReturnType<typeof telling>, until: () => boolean): Promise<void> {
  for (let round = 0; round < 100 && !until(); round++) {
    streams.at(-1)?.lose()
    await clock.advance(streams.at(-1)?.signal.aborted ? 1_000 : 29_000)
  }
}
