import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { collectedLog } from '../../testing/collected-log.ts'
import { deferred } from '../../testing/deferred.ts'
import { fakeControl, STATUS_REPORT } from '../../testing/fake-control.ts'
import { startHttpServer, type TestServer, type TestServerOptions } from '../../testing/http-server.ts'
import { isReached, OTHER_ADDRESS } from '../../testing/network-address.ts'
import { listen } from './index.ts'

let server: TestServer | undefined
let other: Server | undefined

async function started(options: TestServerOptions = {}): Promise<TestServer> {
  server = await startHttpServer(options)
  return server
}

afterEach(async () => {
  await server?.close(0)
  server = undefined
  other?.close()
  other = undefined
})

/** A server whose `status` answers when told to. */
async function busyServer(serverLimits: TestServerOptions['serverLimits'] = {}): Promise<{
  server: TestServer
  entered: Promise<void>
  finish: () => void
  aborted: Promise<void>
}> {
  const entered = deferred()
  const finished = deferred()
  const aborted = deferred()
  const control = fakeControl({
    async status(_input, options) {
      options?.signal?.addEventListener('abort', () => aborted.resolve())
      entered.resolve()
      await finished.promise
      return STATUS_REPORT
    },
  })
  return {
    server: await started({ control, serverLimits: { keepAliveTimeoutMs: 3_600_000, ...serverLimits } }),
    entered: entered.promise,
    finish: finished.resolve,
    aborted: aborted.promise,
  }
}

describe('listening', () => {
  it('is for this machine only unless told otherwise, on a free port for port 0', async () => {
    const { url, port } = await started()
    expect(port).toBeGreaterThan(0)
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect(await isReached('127.0.0.1', port)).toBe(true)
    expect(await isReached(OTHER_ADDRESS, port)).toBe(false)
  })

  it('names an IPv6 address in brackets', async () => {
    const { url, port } = await started({ host: '::1' })
    expect(url).toBe(`http://[::1]:${port}`)
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  it('names this machine when it listens everywhere', async () => {
    const { url, port } = await started({ host: '0.0.0.0' })
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect(await isReached(OTHER_ADDRESS, port)).toBe(true)
  })

  it('says what to do when the port is taken', async () => {
    other = createServer()
    await new Promise<void>(resolve => other?.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const attempt = listen({ app: { fetch: () => new Response() }, port, log: collectedLog().log })
    await expect(attempt).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('--port 0'),
    })
  })

  it('says what to do when the address is not of this machine', async () => {
    await expect(started({ host: '192.0.2.1' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('--host 127.0.0.1'),
    })
  })
})

describe('closing', () => {
  it('lets a request in flight finish, accepts no new one, and ends with the last', async () => {
    const { server, entered, finish } = await busyServer()
    const answer = server.post('status', {})
    await entered
    const closed = server.close(60_000)
    await expect(fetch(`${server.url}/health`)).rejects.toThrow()
    finish()
    expect(await (await answer).json()).toEqual(STATUS_REPORT)
    await closed
  })

  it('knows how many wait for their answer', async () => {
    const { server, entered, finish } = await busyServer()
    expect(server.open()).toBe(0)
    const answer = server.post('status', {})
    await entered
    expect(server.open()).toBe(1)
    finish()
    await (await answer).text()
    await expect.poll(() => server.open()).toBe(0)
  })

  it('says with what it still answers that the connection ends, so that nobody sends the next question into it', async () => {
    const { server, entered, finish } = await busyServer()
    const answer = server.post('status', {})
    await entered
    const closed = server.close(60_000)
    finish()
    expect((await answer).headers.get('connection')).toBe('close')
    await closed
  })

  it('answers whoever asks over a connection that was open, for a moment, and ends that one too', async () => {
    const { port, close } = await started()
    const socket = connect(port, '127.0.0.1')
    const said: string[] = []
    socket.on('data', data => said.push(String(data)))
    const ended = new Promise(resolve => socket.once('close', resolve))
    const ask = () => socket.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    ask()
    await expect.poll(() => said.join('')).toContain('keep-alive')
    said.length = 0
    ask()
    await close()
    await ended
    expect(said.join('')).toMatch(/^HTTP\/1\.1 200[^]*connection: close/i)
  })

  it('does not wait for whoever has a connection ready and asks nothing', async () => {
    const { port, close } = await started({ serverLimits: { headersTimeoutMs: 3_600_000 } })
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    const ended = new Promise(resolve => socket.once('close', () => resolve('ended')))
    await new Promise(resolve => socket.once('connect', resolve))
    await close(3_600_000)
    expect(await ended).toBe('ended')
  })

  it('cuts what is still running after the grace time, and aborts it', async () => {
    const { server, entered, aborted } = await busyServer()
    const ended = server.post('status', {}).catch((error: unknown) => error)
    await entered
    await server.close(10)
    expect(await ended).toBeInstanceOf(Error)
    await aborted
  })

  it('can be asked for again, and sooner', async () => {
    const { server, entered } = await busyServer()
    const ended = server.post('status', {}).catch((error: unknown) => error)
    await entered
    const patient = server.close(3_600_000)
    await server.close(0)
    await patient
    expect(await ended).toBeInstanceOf(Error)
    await server.close()
  })
})

describe('a connection', () => {
  it('that says nothing is closed', async () => {
    const { raw } = await started({ serverLimits: { headersTimeoutMs: 50 } })
    expect(await raw('')).toMatch(/^(HTTP\/1\.1 408|$)/)
  })

  it('that never ends its headers is closed', async () => {
    const { raw } = await started({ serverLimits: { headersTimeoutMs: 50 } })
    expect(await raw('GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')).toMatch(/^HTTP\/1\.1 408/)
  })

  it('that never ends its body is closed', async () => {
    const { raw, port } = await started({
      isAdmin: () => true,
      serverLimits: { headersTimeoutMs: 50, requestTimeoutMs: 50 },
    })
    const head = ['POST /api/v1/control/status HTTP/1.1', `Host: localhost:${port}`, 'Authorization: Bearer x']
    const bytes = [...head, 'Content-Type: application/json', 'Content-Length: 100', '', '{'].join('\r\n')
    expect(await raw(bytes)).toMatch(/^HTTP\/1\.1 408/)
  })

  it('that stays idle after an answer is closed', async () => {
    const { raw, port } = await started({ serverLimits: { keepAliveTimeoutMs: 1 } })
    expect(await raw(`GET /health HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200/)
  })

  it('with oversized headers is refused', async () => {
    const { raw } = await started()
    expect(await raw(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431/,
    )
  })

  it.each([
    '\u0000\u0001\u0002',
    'GET\r\n\r\n',
    'POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
  ])('that does not speak HTTP is refused and harms nobody (%j)', async bytes => {
    const { raw, url } = await started()
    expect(await raw(`${bytes}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400/)
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  it('that is kept for the next request outlives the time that headers have', async () => {
    const { port } = await started({ serverLimits: { headersTimeoutMs: 50 } })
    const kept = connect(port, '127.0.0.1')
    await answerOver(kept, port)
    const silent = connect(port, '127.0.0.1').resume()
    await new Promise(resolve => silent.once('close', resolve))
    expect(await answerOver(kept, port)).toMatch(/^HTTP\/1\.1 200/)
    kept.destroy()
  })

  it('beyond the limit takes the place of the one that has been idle longest', async () => {
    const { port } = await started({ serverLimits: { maxConnections: 2 } })
    const [first, second] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    for (const one of [second, first]) await answerOver(one, port)
    const third = connect(port, '127.0.0.1')
    const closed = new Promise(resolve => second.once('close', resolve))
    expect(await answerOver(third, port)).toMatch(/^HTTP\/1\.1 200/)
    await closed
    expect(await answerOver(first, port)).toMatch(/^HTTP\/1\.1 200/)
    for (const one of [first, third]) one.destroy()
  })

  it('beyond the limit is closed at once where none is idle', async () => {
    const { server, entered, finish } = await busyServer({ maxConnections: 1 })
    const busy = server.post('status', {})
    await entered
    expect(await server.raw(`GET /health HTTP/1.1\r\nHost: localhost:${server.port}\r\n\r\n`)).toBe('')
    finish()
    expect((await busy).status).toBe(200)
  })
})

/** The answer to a question over a connection that stays open. */
function answerOver(socket: Socket, port: number): Promise<string> {
  return new Promise(resolve => {
    socket.once('data', data => resolve(String(data)))
    socket.write(`GET /health HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
  })
}
