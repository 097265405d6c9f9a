import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CancelSignal } from '../../core/kernel/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { startHttpServer } from '../../testing/http-server.ts'

/** A server that answers the way it is told, and a client that sends several requests without waiting for answers. */
async function pipelined(way: string, requests: number, answerOf: (turn: number) => Promise<Response>) {
  const gone: CancelSignal[] = []
  const arrived = deferred()
  const answer = (_request: unknown, signal: CancelSignal) => {
    const answered = answerOf(gone.push(signal))
    if (gone.length === requests) arrived.resolve()
    return answered
  }
  const short = { isFor: (headers: object) => 'x-short' in headers, answer }
  const server = await startHttpServer({ mounts: [{ path: '/mcp', handle: answer, short }] })
  onTestFinished(() => server.close(0))
  const request = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nX-${way}: 1\r\nContent-Length: 5\r\n\r\nhello`
  const client = connect(server.port, '127.0.0.1', () => void client.write(request.repeat(requests)))
  await arrived.promise
  return { client, areGone: () => gone.map(({ aborted }) => aborted) }
}

/** A stream that says something and goes on. */
function openStream() {
  let isLeft = false
  const body = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(Buffer.from(': hello\n\n')),
    cancel() {
      isLeft = true
    },
  })
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  return { response, isLeft: () => isLeft }
}

const never = () => new Promise<Response>(() => {})

describe.each(['Short', 'Long'])('a client that goes, by the way that is %s', way => {
  it('is known to be gone by all that it asked for, also by what waits behind another answer', async () => {
    const { client, areGone } = await pipelined(way, 20, never)
    client.destroy()
    await expect.poll(areGone).toEqual(Array.from({ length: 20 }, () => true))
  })

  it('leaves no stream open behind another answer', async () => {
    const stream = openStream()
    const { client } = await pipelined(way, 2, turn => (turn === 1 ? never() : Promise.resolve(stream.response)))
    client.destroy()
    await expect.poll(stream.isLeft).toBe(true)
  })

  it.each([1, 2])('leaves no stream open that comes when it is gone, as answer %i', async late => {
    const [stream, answer] = [openStream(), deferred<Response>()]
    const { client, areGone } = await pipelined(way, 2, turn => (turn === late ? answer.promise : never()))
    client.destroy()
    await expect.poll(areGone).toEqual([true, true])
    answer.resolve(stream.response)
    await expect.poll(stream.isLeft).toBe(true)
  })

  it('is not taken for gone while its answers come one after another', async () => {
    const first = deferred<Response>()
    const second = Promise.resolve(new Response('the second'))
    const { client, areGone } = await pipelined(way, 2, turn => (turn === 1 ? first.promise : second))
    first.resolve(new Response('the first'))
    let text = ''
    client.on('data', part => {
      text += part
    })
    await expect.poll(() => text).toMatch(/the first[^]*the second/)
    expect(areGone()).toEqual([false, false])
  })
})
