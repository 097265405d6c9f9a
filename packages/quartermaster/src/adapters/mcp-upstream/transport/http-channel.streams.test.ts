import { describe, expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZE, INITIALIZED } from '../testing/http-fixture.ts'
import { openHttpChannel } from './http-channel.ts'

const reply = (id: unknown) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`

/** A clock on which every pause is over at once, and is written down. Longer ones are limits, none of which is reached here. */
function hastyClock() {
  const pauses: number[] = []
  const after = (ms: number, go: () => void) => {
    if (ms <= 5_000) {
      pauses.push(ms)
      setImmediate(go)
    }
    return () => {}
  }
  return { pauses, clock: { ...createFakeClock(), after } }
}

describe('a stream by HTTP', () => {
  it('is taken up again after the last event, when the server says and not before', async () => {
    const server = await httpEndpoint(visit => {
      const write = visit.events()
      if (visit.method === 'GET') return write(`id: e2\n${reply(1)}`)
      write('id: e1\nretry: 5000\ndata:\n\n')
      visit.response.end()
    })
    const pause = deferred<() => void>()
    const clock = {
      ...createFakeClock(),
      after: (ms: number, go: () => void) => (ms === 5_000 && pause.resolve(go), () => {}),
    }
    const desk = await httpFixture(server.url, { clock })
    const answered = desk.next()
    await desk.channel.send(call(1))
    const go = await pause.promise
    expect(server.visits).toHaveLength(1)
    go()
    expect(await answered).toMatchObject({ id: 1, result: {} })
    expect(server.visits[1]).toMatchObject({ method: 'GET', headers: { 'last-event-id': 'e1' } })
  })
  it('of a session is opened again when it breaks; when nobody is there, the channel is lost', async () => {
    let listening: Visit | undefined
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'initialize') return visit.result({}, { 'mcp-session-id': 's' })
      if (visit.method !== 'GET') return visit.json(202)
      listening = visit
      visit.events()('id: e1\ndata: {"jsonrpc":"2.0","method":"x"}\n\n')
    })
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    const first = desk.next()
    await desk.channel.send(INITIALIZED)
    await first
    const second = desk.next()
    listening?.drop()
    await whileAdvancing(desk.clock, second, 100)
    expect(server.visits.at(-1)).toMatchObject({ method: 'GET', headers: { 'last-event-id': 'e1' } })
    await server.close()
    expect(await whileAdvancing(desk.clock, desk.ended, 100)).toMatchObject({ kind: 'unreachable' })
  })

  /** A server whose stream breaks whenever the test says so. */
  async function breaking(first = '', refusal?: number, times = 1) {
    const streams: Visit[] = []
    let refusals = 0
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'ping') return visit.result({})
      if (visit.method !== 'GET') return visit.json(202)
      if (streams.length > 0 && refusal !== undefined && refusals++ < times) return visit.json(refusal)
      streams.push(visit)
      visit.events()(first)
    })
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZED)
    await expect.poll(() => streams.length).toBe(1)
    const until = async (isSo: () => boolean) => {
      await expect.poll(isSo).toBe(true)
    }
    const opened = (count: number) =>
      whileAdvancing(
        desk.clock,
        until(() => streams.length >= count),
        500,
      )
    return { ...desk, streams, until, opened, breakOff: () => streams.at(-1)?.response.end() }
  }

  it('of a session is opened without its last event where the server does not go on from that', async () => {
    const { breakOff, opened, streams, missed } = await breaking('id: e1\ndata: \n\n', 400)
    breakOff()
    await opened(2)
    expect(streams[1]?.headers['last-event-id']).toBeUndefined()
    await expect.poll(missed).toBe(1)
  })
  it('of a session is over where the server refuses it again and again, and lets everything else in', async () => {
    const { breakOff, clock, lines, until, streams } = await breaking('', 401, Number.POSITIVE_INFINITY)
    breakOff()
    await whileAdvancing(
      clock,
      until(() => lines.some(line => line.endsWith('The server has no such stream.'))),
      500,
    )
    expect(lines.at(-1)).toBe('Nothing is heard from it beside its answers. The server has no such stream.')
    expect(streams).toHaveLength(1)
  })

  it('that ends at once with nothing in it is asked for less and less often, however soon the server wants us back', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.method !== 'GET') return visit.json(202)
      visit.events()('id: e1\nretry: 0\ndata:\n\n')
      visit.response.end()
    })
    const { pauses, clock } = hastyClock()
    const desk = await httpFixture(server.url, { clock })
    await desk.channel.send(INITIALIZED)
    // What was waited for until here is the end of the answer to it.
    pauses.splice(0)
    await server.arrived(10)
    expect(pauses.slice(0, 8)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  })
  it('that floods is taken in turns, all streams of a channel together', async () => {
    const flood = 'data: {"jsonrpc":"2.0","method":"x"}\n\n'.repeat(3_000)
    const server = await httpEndpoint(visit => {
      const write = visit.events()
      write(flood)
      write(reply(visit.body.id))
      visit.response.end()
    })
    const turns: number[] = []
    const seen = { turn: 0, answers: 0, all: deferred() }
    const count = () => {
      seen.turn++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    const channel = await channelTo(server.url, message => {
      turns[seen.turn] = (turns[seen.turn] ?? 0) + 1
      if ('id' in message && ++seen.answers === 2) seen.all.resolve()
    })
    await Promise.all([channel.send(call(1)), channel.send(call(2))])
    await seen.all.promise
    clearImmediate(counting)
    expect(turns.reduce((sum, one) => sum + one, 0)).toBe(6_002)
    expect(Math.max(...turns.filter(Number))).toBeLessThanOrEqual(256)
  })
})

/** A channel for whoever takes its messages in a way of their own. */
async function channelTo(url: string, onMessage: (message: Message) => void, log = (_text: string) => {}) {
  const open = openHttpChannel({ name: 'files', url, headers: {}, clock: createFakeClock(), log })
  const channel = await open({ onMessage, onEnd() {} }, new AbortController().signal)
  onTestFinished(() => channel.close())
  return channel
}
