import { describe, expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZE, INITIALIZED, modernCall } from '../testing/http-fixture.ts'
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
  it('goes on after a message that nests deeper than one may, and that is none', async () => {
    const deep = `{"jsonrpc":"2.0","method":"notifications/message","params":${'['.repeat(5_000)}${']'.repeat(5_000)}}`
    const server = await httpEndpoint(visit => {
      const write = visit.events()
      write(`data: ${deep}\n\n`)
      write(reply(visit.body.id))
      visit.response.end()
    })
    const desk = await httpFixture(server.url)
    const answered = desk.next()
    await desk.channel.send(call(1))
    await answered
    expect(desk.messages).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
  })

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

  it('of an answer is asked for as often as the server says, however often it has nothing', async () => {
    const server = await httpEndpoint(visit => {
      const write = visit.events()
      if (server.visits.length > 8) return write(`id: e2\n${reply(1)}`)
      write('id: e1\nretry: 300\ndata:\n\n')
      visit.response.end()
    })
    const { pauses, clock } = hastyClock()
    const desk = await httpFixture(server.url, { clock })
    const answered = desk.next()
    await desk.channel.send(call(1))
    expect(await answered).toMatchObject({ id: 1, result: {} })
    expect(pauses.filter(ms => ms === 300)).toHaveLength(8)
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

  it('of a session says since when it is there, which is never where the server has none', async () => {
    let stream: Visit | undefined
    const server = await httpEndpoint(visit => {
      if (visit.method !== 'GET') return visit.json(202)
      if (visit.path !== '/mcp') return visit.json(405)
      stream = visit
      visit.events()
    })
    const [desk, other] = [await httpFixture(server.url), await httpFixture(`${server.origin}/none`)]
    await desk.channel.send(INITIALIZED)
    const [opened, since] = [desk.clock.now(), () => desk.channel.listeningSince?.()]
    await expect.poll(since).toBe(opened)
    stream?.response.end()
    await desk.clock.advance(5_000)
    await expect.poll(since).toBeGreaterThan(opened)
    await other.channel.send(INITIALIZED)
    await expect.poll(() => other.lines).toHaveLength(1)
    expect(other.channel.listeningSince?.()).toBeUndefined()
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

  it('of a session that is opened again tells once that something may have been missed', async () => {
    const { breakOff, opened, missed } = await breaking(': nothing yet\n\n')
    expect(missed()).toBe(0)
    breakOff()
    await opened(2)
    await expect.poll(missed).toBe(1)
  })

  it('of a session is opened without its last event where the server does not go on from that', async () => {
    const { breakOff, opened, streams, missed } = await breaking('id: e1\ndata: \n\n', 400)
    breakOff()
    await opened(2)
    expect(streams[1]?.headers['last-event-id']).toBeUndefined()
    await expect.poll(missed).toBe(1)
  })

  it('of a session that goes on after its last event has missed nothing', async () => {
    const { breakOff, opened, missed, streams, messages } = await breaking(
      'id: e1\ndata: {"jsonrpc":"2.0","method":"x"}\n\n',
    )
    await expect.poll(() => messages).toHaveLength(1)
    breakOff()
    await opened(2)
    await expect.poll(() => messages).toHaveLength(2)
    expect([streams[1]?.headers['last-event-id'], missed()]).toEqual(['e1', 0])
  })

  it.each([200, 400, 401, 403, 404, 405, 409])(
    'of a session is asked for again where it was there and is refused once (%i)',
    async status => {
      const { breakOff, opened, missed, lines } = await breaking('', status)
      breakOff()
      await opened(2)
      await expect.poll(missed).toBe(1)
      expect(lines).toEqual([])
    },
  )

  it.each([404, 405])(
    'of a session is asked for until it is there again, which people are told once (%i)',
    async status => {
      const { breakOff, opened, missed, lines } = await breaking('', status, 10)
      breakOff()
      await opened(2)
      await expect.poll(missed).toBe(1)
      expect(lines).toEqual([
        `Nothing is heard from it beside its answers for now: The server answered with HTTP ${status}.`,
      ])
    },
  )

  it.each([404, 405])('of a session is over where the server has never had one (%i)', async status => {
    const server = await httpEndpoint(visit => visit.json(visit.method === 'GET' ? status : 202))
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZED)
    await expect
      .poll(() => desk.lines)
      .toEqual(['Nothing is heard from it beside its answers. The server has no such stream.'])
    await desk.clock.advance(60_000)
    expect(server.visits.map(({ method }) => method)).toEqual(['POST', 'GET'])
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

  it('that brings something each time is opened again ten times a second at most', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.method !== 'GET') return visit.json(202)
      visit.events()('id: e1\nretry: 0\ndata: {"jsonrpc":"2.0","method":"x"}\n\n')
      visit.response.end()
    })
    const desk = await httpFixture(server.url)
    const startedAt = desk.clock.now()
    await desk.channel.send(INITIALIZED)
    await whileAdvancing(desk.clock, server.arrived(6), 20)
    expect(desk.clock.now() - startedAt).toBeGreaterThanOrEqual(400)
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

  it('goes on after a message that nobody can handle, and that is told', async () => {
    const server = await httpEndpoint(visit => {
      visit.events()(`data: {"jsonrpc":"2.0","method":"odd"}\n\n${reply(visit.body.id)}`)
      visit.response.end()
    })
    const answered = deferred<Message>()
    const lines: string[] = []
    const take = (message: Message) => {
      if ('method' in message) throw new Error('It is odd.')
      answered.resolve(message)
    }
    const channel = await channelTo(server.url, take, text => void lines.push(text))
    await channel.send(call(1))
    expect(await answered.promise).toMatchObject({ id: 1 })
    expect(lines).toEqual(['A message from it could not be handled: Error: It is odd.'])
  })

  it('has answered nothing with what is no message', async () => {
    const server = await httpEndpoint(visit => {
      visit.events()('data: {"jsonrpc":"2.0"}\n\ndata: {"id":1,"method":5}\n\n')
      visit.response.end()
    })
    const desk = await httpFixture(server.url)
    const lost = desk.nextLost()
    await desk.channel.send(modernCall(1))
    expect(await lost).toMatchObject({ id: 1 })
    expect(desk.messages).toEqual([])
  })
})

/** A channel for whoever takes its messages in a way of their own. */
async function channelTo(url: string, onMessage: (message: Message) => void, log = (_text: string) => {}) {
  const open = openHttpChannel({ name: 'files', url, headers: {}, clock: createFakeClock(), log })
  const channel = await open({ onMessage, onEnd() {} }, new AbortController().signal)
  onTestFinished(() => channel.close())
  return channel
}
