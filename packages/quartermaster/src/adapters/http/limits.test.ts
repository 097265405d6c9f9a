import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { fakeControl, STATUS_REPORT } from '../../testing/fake-control.ts'
import { startHttpServer, type TestServer, type TestServerOptions } from '../../testing/http-server.ts'

async function started(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startHttpServer(options)
  onTestFinished(() => server.close(0))
  return server
}

/** A mount that answers with more than any socket buffers, and tells when it was asked and when its client is gone. */
function largeAnswer(answer: () => Uint8Array<ArrayBuffer> | ReadableStream) {
  const asked = deferred()
  const gone = deferred()
  const handle = async (request: Request) => {
    asked.resolve()
    request.signal.addEventListener('abort', () => gone.resolve())
    return new Response(answer())
  }
  return { mounts: [{ path: '/large' as const, handle }], asked: asked.promise, gone: gone.promise }
}

/** A client that asks and never reads. */
function deafClient(port: number): Socket {
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`GET /large HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`),
  )
  onTestFinished(() => void socket.destroy())
  // The server may reset it.
  return socket.on('error', () => {}).pause()
}

/** A control whose `status` answers when told to. */
function slowStatus() {
  const entered = deferred()
  const finished = deferred()
  const control = fakeControl({
    async status() {
      entered.resolve()
      await finished.promise
      return STATUS_REPORT
    },
  })
  return { control, entered: entered.promise, finish: finished.resolve }
}

const large = () => new Uint8Array(64 * 1024 * 1024)
const endless = () =>
  new ReadableStream({ pull: controller => controller.enqueue(new Uint8Array(1024 * 1024)) }, { highWaterMark: 0 })

describe('a client that does not read', () => {
  it.each([
    ['a large answer', large],
    ['an endless stream', endless],
  ])('is cut off from %s', async (_what, answer) => {
    const { mounts, asked } = largeAnswer(answer)
    const { port, close } = await started({ mounts, serverLimits: { stalledReaderMs: 50 } })
    deafClient(port)
    await asked
    // A server that stops waits for every connection for as long as it is told to.
    await expect(close(3_600_000)).resolves.toBeUndefined()
  })

  it('is not mistaken for one that waits for its answer', async () => {
    const { control, entered, finish } = slowStatus()
    const { mounts, gone } = largeAnswer(endless)
    const { post, port } = await started({ control, mounts, serverLimits: { stalledReaderMs: 50 } })
    const waiting = post('status', {})
    await entered
    deafClient(port)
    // The deaf one came later and is cut already, so the time of the other is over as well.
    await gone
    finish()
    expect(await (await waiting).json()).toEqual(STATUS_REPORT)
  })
})

describe('a request', () => {
  const withHeaders = (port: number, count: number) =>
    `GET /health HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n${'X: y\r\n'.repeat(count - 2)}\r\n`

  it('has so many headers and no more, and none is left out silently', async () => {
    const { raw, port } = await started({ serverLimits: { maxHeaders: 10 } })
    expect(await raw(withHeaders(port, 10))).toMatch(/^HTTP\/1\.1 200/)
    const refused = await raw(withHeaders(port, 11))
    expect(refused).toMatch(/^HTTP\/1\.1 431/)
    expect(refused).toContain('"code":"LIMIT_EXCEEDED"')
    expect(await raw(withHeaders(port, 3_000))).toMatch(/^HTTP\/1\.1 431/)
  })

  it.each([
    ['nests too deep', `${'['.repeat(100_000)}`],
    ['has too many values', `[${'0,'.repeat(100_000)}0]`],
  ])('whose body %s is refused before it is parsed', async (_what, body) => {
    const { post } = await started()
    const response = await post('status', undefined, { body })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })

  it('beyond those that may be under way is told to come back, and may', async () => {
    const { control, entered, finish } = slowStatus()
    const { post } = await started({
      control: { ...control, agents: async () => [] },
      limits: { maxInFlight: 1 },
    })
    const first = post('status', {})
    await entered
    const second = await post('agents', {})
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await second.json()).toMatchObject({ code: 'RATE_LIMITED', retry: 'later' })
    finish()
    expect((await first).status).toBe(200)
    await expect.poll(async () => (await post('agents', {})).status).toBe(200)
  })
})

describe('/health', () => {
  it('answers while everything else is busy', async () => {
    const { control, entered, finish } = slowStatus()
    const { post, url } = await started({ control, limits: { maxInFlight: 1 } })
    const busy = post('status', {})
    await entered
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect((await post('status', {})).status).toBe(429)
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    finish()
    await busy
  })
})
