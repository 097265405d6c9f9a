import { describe, expect, it } from 'vitest'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZED } from '../testing/http-fixture.ts'

/** Begins an answer, and never ends it. */
function begin({ response }: Visit, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'text/html', ...headers })
  response.write('<p>')
}

/** An endpoint of such answers, and how many of their exchanges are still open. */
async function endless(status: number, headers: Record<string, string> = {}) {
  const open = new Set<Visit>()
  let tell = () => {}
  const server = await httpEndpoint(visit => {
    open.add(visit)
    visit.response.once('close', () => {
      open.delete(visit)
      tell()
    })
    begin(visit, status, headers)
  })
  /** Resolves to how many are left, when it is so few. */
  const downTo = (count: number) =>
    new Promise<number>(resolve => {
      tell = () => open.size <= count && resolve(open.size)
      tell()
    })
  return { ...server, open, downTo }
}

describe('an answer that never ends', () => {
  it.each([
    ['is no JSON', 200],
    ['says that it was taken in', 202],
    ['wants somebody signed in', 401],
  ])('holds no connection for longer than a second when it %s', async (_, status) => {
    const server = await endless(status)
    const desk = await httpFixture(server.url)
    await desk.channel.send(call(1)).catch(() => {})
    await desk.clock.advance(1_000)
    expect(await server.downTo(0)).toBe(0)
  })

  it.each([403, 500])('is looked at for a second and no longer when it is a refusal (%i)', async status => {
    const server = await endless(status)
    const desk = await httpFixture(server.url)
    const sending = desk.channel.send(call(1))
    sending.catch(() => {})
    await server.arrived(1)
    // The first part has to be on its way before time passes.
    await expect.poll(() => desk.clock.advance(1_000).then(() => server.open.size)).toBe(0)
    await expect(sending).rejects.toMatchObject({ status })
  })

  it('holds no more than a few connections at a time', async () => {
    const server = await endless(200)
    const desk = await httpFixture(server.url)
    for (let id = 1; id <= 30; id++) await desk.channel.send(call(id)).catch(() => {})
    expect(await server.downTo(16)).toBe(16)
    await desk.clock.advance(1_000)
    expect(await server.downTo(0)).toBe(0)
  })

  it('leaves the connection of a short one to be used again', async () => {
    const sockets = new Set<unknown>()
    const server = await httpEndpoint(visit => {
      sockets.add(visit.response.socket)
      visit.response.writeHead(202).end()
    })
    const desk = await httpFixture(server.url)
    for (let round = 0; round < 5; round++) await desk.channel.send({ ...INITIALIZED, method: 'notifications/other' })
    // The next may be sent before the end of the last is there.
    expect(sockets.size).toBeLessThanOrEqual(2)
  })
})

describe('a stream that goes on behind its answer', () => {
  it('is given up after a second, however much more comes', async () => {
    const server = await httpEndpoint(visit => {
      visit.events()(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })}\n\n`)
    })
    const desk = await httpFixture(server.url)
    const more = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: {} })}\n\n`
    const answered = desk.next()
    await desk.channel.send(call(1))
    await answered
    const { response } = server.visits[0] ?? {}
    const closed = new Promise<'closed'>(resolve => response?.once('close', () => resolve('closed')))
    for (let half = 0; half < 2; half++) {
      const heard = desk.next()
      response?.write(more)
      await heard
      await desk.clock.advance(500)
    }
    expect(await closed).toBe('closed')
  })
})

describe('a cancellation', () => {
  it('ends the exchange of its request also when the server keeps silent about it', async () => {
    const server = await httpEndpoint(() => {})
    const desk = await httpFixture(server.url)
    const first = desk.channel.send(call(1))
    first.catch(() => {})
    await server.arrived(1)
    const params = { requestId: 1 }
    const cancelling = desk.channel.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    cancelling.catch(() => {})
    await server.arrived(2)
    await desk.clock.advance(2_000)
    await expect(first).rejects.toMatchObject({ wasSent: 'maybe' })
    await expect(cancelling).rejects.toMatchObject({ wasSent: 'maybe' })
  })
})
