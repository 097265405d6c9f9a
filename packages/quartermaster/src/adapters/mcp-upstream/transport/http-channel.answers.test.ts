import { describe, expect, it } from 'vitest'
import { deferred } from '../../../testing/deferred.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZED, modernCall } from '../testing/http-fixture.ts'

const answerTo = (id: unknown, text: string) => ({ jsonrpc: '2.0', id, result: { text } })
const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`

const FOREIGN = 'It sent an answer with another id than that of the request, and it was dropped.'

type Mislabel = (visit: Visit, answers: readonly unknown[]) => void

const asJson: Mislabel = (visit, answers) => visit.json(200, answers.length === 1 ? answers[0] : answers)
const asStream: Mislabel = (visit, answers) => {
  const write = visit.events()
  for (const answer of answers) write(event(answer))
  visit.response.end()
}

const WAYS = [
  ['JSON of 2025-11-25', call, asJson],
  ['a stream of 2025-11-25', call, asStream],
  ['JSON of 2026-07-28', modernCall, asJson],
  ['a stream of 2026-07-28', modernCall, asStream],
] as const

/** A server that is at work on the request 1, and answers each other one in whatever way the test wants. */
async function busyServer(request: (id: number) => Message, answer: (visit: Visit) => unknown) {
  const first = deferred<Visit>()
  const server = await httpEndpoint(visit => (visit.body.id === 1 ? first.resolve(visit) : answer(visit)))
  const desk = await httpFixture(server.url)
  const sent = desk.channel.send(request(1))
  sent.catch(() => {})
  const held = await first.promise
  const finish = async () => {
    held.json(200, answerTo(1, 'first'))
    await sent
  }
  return { ...desk, server, finish }
}

describe('an answer by HTTP', () => {
  it.each(WAYS)('settles no other request than the one it came for: %s', async (_, request, mislabel) => {
    const desk = await busyServer(request, visit => mislabel(visit, [answerTo(1, 'of the second')]))
    const lost = desk.nextLost()
    await desk.channel.send(request(2))
    expect(await lost).toMatchObject({ id: 2 })
    expect(desk.messages).toEqual([])
    await desk.finish()
    expect(desk.messages).toEqual([answerTo(1, 'first')])
    expect(desk.lines).toEqual([FOREIGN])
  })

  it.each(WAYS)('is found among others that nobody is given: %s', async (_, request, mislabel) => {
    const answers = [answerTo(1, 'foreign'), answerTo(2, 'own'), answerTo(null, 'of nobody')]
    const desk = await busyServer(request, visit => mislabel(visit, answers))
    const answered = desk.next()
    await desk.channel.send(request(2))
    expect(await answered).toEqual(answerTo(2, 'own'))
    await desk.finish()
    expect(desk.messages).toEqual([answerTo(2, 'own'), answerTo(1, 'first')])
    expect(desk.lost).toEqual([])
  })

  it('settles no other request on a stream that was taken up again either', async () => {
    const desk = await busyServer(call, visit => {
      const write = visit.events()
      if (visit.method === 'GET') write(`${event(answerTo(1, 'foreign'))}${event(answerTo(2, 'own'))}`)
      else write('id: e1\nretry: 100\ndata:\n\n')
      visit.response.end()
    })
    const answered = desk.next()
    await desk.channel.send(call(2))
    // Its pause begins when the end of the first stream has come.
    await expect.poll(async () => (await desk.clock.advance(100), desk.server.visits.length)).toBe(3)
    expect(await answered).toEqual(answerTo(2, 'own'))
    expect(desk.messages).toEqual([answerTo(2, 'own')])
  })

  it('may come for any request on the stream that a legacy server speaks on', async () => {
    const stream = deferred<(text: string) => void>()
    const server = await httpEndpoint(visit => {
      if (visit.method === 'GET') return stream.resolve(visit.events())
      visit.json(202)
    })
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZED)
    const write = await stream.promise
    await desk.channel.send(call(1))
    const answered = desk.next()
    write(event(answerTo(1, 'beside')))
    expect(await answered).toEqual(answerTo(1, 'beside'))
    expect([desk.lost, desk.lines]).toEqual([[], []])
  })

  it('that is nobody’s is told of once in a while, however many come', async () => {
    const many = Array.from({ length: 50 }, () => answerTo(1, 'foreign'))
    const desk = await busyServer(modernCall, visit => asStream(visit, many))
    const ask = async (id: number) => {
      const lost = desk.nextLost()
      await desk.channel.send(modernCall(id))
      await lost
    }
    await ask(2)
    await ask(3)
    expect(desk.lines).toEqual([FOREIGN])
    await desk.clock.advance(60_000)
    await ask(4)
    expect(desk.lines).toEqual([FOREIGN, FOREIGN])
  })
})
