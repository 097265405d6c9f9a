import { describe, expect, it } from 'vitest'
import { whileAdvancing } from '../../../testing/fake-clock.ts'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { httpFixture, INITIALIZED } from '../testing/http-fixture.ts'

/** A server whose stream ends after an event, from which it goes on only as the test says. */
async function resuming(resume: (visit: Visit) => void) {
  const streams: Visit[] = []
  const resumed: string[] = []
  const server = await httpEndpoint(visit => {
    if (visit.method !== 'GET') return visit.json(202)
    const last = visit.headers['last-event-id']
    if (last !== undefined) {
      resumed.push(String(last))
      return resume(visit)
    }
    streams.push(visit)
    visit.events()('id: e1\ndata: \n\n')
  })
  const desk = await httpFixture(server.url)
  await desk.channel.send(INITIALIZED)
  await expect.poll(() => streams.length).toBe(1)
  streams[0]?.response.end()
  const until = async (isSo: () => boolean) => {
    const poll = async () => void (await expect.poll(isSo).toBe(true))
    await whileAdvancing(desk.clock, poll(), 500)
  }
  return { ...desk, streams, resumed, until }
}

describe('the stream of a session that ended after an event', () => {
  it.each([200, 500])(
    'is opened without its last event where the server twice fails to go on from that (%i)',
    async status => {
      const { streams, resumed, missed, until } = await resuming(visit => visit.json(status))
      await until(() => streams.length === 2)
      expect(resumed).toEqual(['e1', 'e1'])
      await expect.poll(missed).toBe(1)
    },
  )

  it('keeps its last event for a server that is away, also behind a proxy, or fails only now and then', async () => {
    const troubles = [500, 'away', 500, 'away', 'away', 'away', 502, 503, 504] as const
    const { streams, resumed, missed, messages, until } = await resuming(visit => {
      const trouble = troubles[resumed.length - 1]
      if (trouble === undefined) return visit.events()('data: {"jsonrpc":"2.0","method":"x"}\n\n')
      return trouble === 'away' ? visit.drop() : visit.json(trouble)
    })
    await until(() => messages.length === 1)
    expect([streams.length, resumed.length, missed()]).toEqual([1, troubles.length + 1, 0])
  })
})
