import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { limitBodyRate } from './request.ts'

const LIMITS = { requestTimeoutMs: 30_000, bodyBytesPerSecond: 8 }

/** A request whose head has arrived, with a body of 720 bytes to come, or this one with it. */
async function begun(body = '') {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const timed = deferred<number>()
  const server = createServer((request, response) => {
    limitBodyRate(request, response, LIMITS)
    setImmediate(() => {
      timed.resolve(vi.getTimerCount())
      request.on('end', () => response.end()).resume()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    vi.useRealTimers()
    server.closeAllConnections()
    server.close()
  })
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 720\r\n\r\n${body}`)
  const [request] = (await once(server, 'request')) as [IncomingMessage]
  return { client, request, timed: timed.promise, answer: once(client, 'data').then(String) }
}

it('lets a body take its time as long as it keeps coming', async () => {
  const { client, request, answer } = await begun()
  for (let part = 0; part < 3; part++) {
    client.write('x'.repeat(240))
    await once(request, 'data')
    vi.advanceTimersByTime(30_000)
  }
  expect(await answer).toMatch(/^HTTP\/1\.1 200/)
})

it('cuts one that comes too slowly', async () => {
  const { client, request, answer } = await begun()
  client.write('x'.repeat(239))
  await once(request, 'data')
  vi.advanceTimersByTime(30_000)
  expect(await answer).toMatch(/^HTTP\/1\.1 408/)
})

it('times no body that came with its head', async () => {
  const { timed, answer } = await begun('x'.repeat(720))
  expect(await timed).toBe(0)
  expect(await answer).toMatch(/^HTTP\/1\.1 200/)
})
