import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock, whileAdvancing } from '../../testing/fake-clock.ts'
import { bridge, endpoint, legacy, modern, type ReceivedRequest } from './testing/bridge-fixture.ts'

describe('what a bridge does with its lines', () => {
  it.each(['{', '"text"', '[]', '{"id":1}'])('answers %s as no message', async line => {
    const { url } = await endpoint(() => {})
    const desk = bridge({ urls: [url] })
    desk.send(line)
    expect(await desk.next()).toMatchObject({ id: null, error: { code: -32_700 } })
  })

  it('ignores empty lines', async () => {
    const { url } = await endpoint(incoming => incoming.answer({}))
    const desk = bridge({ urls: [url] })
    desk.send('')
    desk.send('\r')
    desk.send(modern(1, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 1 })
  })

  it('rejects a message that is too long under its id, and continues', async () => {
    const { url, received } = await endpoint(incoming => incoming.answer({}))
    const desk = bridge({ urls: [url] })
    const long = 'x'.repeat(9 * 1024 * 1024)
    desk.send(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":"${long}"}`)
    desk.send(`{"method":"tools/call","params":"${long}","jsonrpc":"2.0","id":5}`)
    desk.send(`{"method":"tools/call","id":5,"params":"${long}"}`)
    const answers = [await desk.next(), await desk.next(), await desk.next()]
    expect(answers.map(({ id }) => id)).toEqual(['a', 5, null])
    expect(answers[0]).toMatchObject({ error: { data: { code: 'LIMIT_EXCEEDED' } } })
    desk.send(modern(1, 'tools/list'))
    await desk.next()
    expect(received).toHaveLength(1)
  })

  it('answers the requests sent before the input closed, and then ends', async () => {
    const came = deferred<ReceivedRequest>()
    const { url } = await endpoint(incoming => came.resolve(incoming))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/list'))
    const incoming = await came.promise
    desk.end()
    incoming.answer({ tools: [] })
    expect(await desk.next()).toMatchObject({ id: 1 })
    expect(await desk.done).toEqual({})
    expect(desk.givenBack).toEqual(['token-1'])
  })

  it('waits at most 35 seconds for answers after the input closed', async () => {
    const clock = createFakeClock()
    const came = [deferred<ReceivedRequest>(), deferred<ReceivedRequest>()]
    const { url } = await endpoint(incoming => came[Number(incoming.body.id)]?.resolve(incoming))
    const desk = bridge({ urls: [url], clock })
    desk.send(modern(0, 'tools/list'))
    desk.send(modern(1, 'tools/call', { name: 'rest' }))
    const [slow, never] = await Promise.all(came.map(({ promise }) => promise))
    desk.end()
    for (let second = 0; second < 30; second++) await clock.advance(1_000)
    slow?.answer({ tools: [] })
    expect(await desk.next()).toMatchObject({ id: 0 })
    expect(await whileAdvancing(clock, desk.done)).toEqual({})
    await never?.closed
  })

  it('ends when its output is closed', async () => {
    const { url } = await endpoint(incoming => incoming.answer({}))
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/list'))
    await desk.next()
    desk.output.destroy(new Error('EPIPE'))
    expect(await desk.done).toEqual({})
  })

  it('reads no faster than the client does', async () => {
    const sizes = { sent: 0 }
    const { url } = await endpoint(incoming => {
      incoming.stream()
      const more = () => {
        const data = JSON.stringify({
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { text: 'x'.repeat(65_536) },
        })
        while (sizes.sent < 64 * 1024 * 1024) {
          sizes.sent += data.length
          if (!incoming.response.write(`data: ${data}\n\n`)) return void incoming.response.once('drain', more)
        }
      }
      more()
    })
    const desk = bridge({ urls: [url] })
    desk.output.pause()
    desk.send(modern(1, 'tools/call', { name: 'chatter' }))
    let before = -1
    // What the pipes between the two hold is a few megabytes; then everything stands still.
    await expect
      .poll(
        () => {
          const isStill = sizes.sent > 0 && sizes.sent === before
          before = sizes.sent
          return isStill
        },
        { interval: 200 },
      )
      .toBe(true)
    expect(sizes.sent).toBeLessThan(32 * 1024 * 1024)
  })

  it('answers every request with the reason it cannot connect, and reports it once', async () => {
    const find = () => Promise.reject(new AppError('AGENT_NOT_FOUND', 'There is no agent "nobody".'))
    const desk = bridge({ find })
    desk.send(legacy(0, 'initialize'))
    desk.send(modern(1, 'server/discover'))
    const error = { message: 'There is no agent "nobody".', data: { code: 'AGENT_NOT_FOUND' } }
    const answers = [await desk.next(), await desk.next()].toSorted((a, b) => Number(a.id) - Number(b.id))
    expect(answers).toMatchObject([
      { id: 0, error },
      { id: 1, error },
    ])
    desk.end()
    expect(await desk.done).toMatchObject({ failure: { code: 'AGENT_NOT_FOUND' } })
    expect(desk.told).toEqual(['There is no agent "nobody".'])
  })
})
