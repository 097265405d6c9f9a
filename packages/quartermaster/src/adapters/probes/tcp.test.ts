import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { tcp } from './index.ts'

const context = (signal = new AbortController().signal) => ({ signal, hasSecret: () => false })

async function listening() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { server, port }
}

describe('tcp', () => {
  it('is up where something accepts connections, and closes its own', async () => {
    const { server, port } = await listening()
    const closed = once(server, 'connection').then(
      ([socket]) => new Promise(done => socket.resume().once('close', done)),
    )
    expect(await tcp({ port }).run(context())).toEqual({ up: true })
    await closed
    server.close()
  })

  it('is down where nothing listens', async () => {
    const { server, port } = await listening()
    server.close()
    await once(server, 'close')
    expect(await tcp({ port }).run(context())).toEqual({
      up: false,
      reason: `Nothing listens on 127.0.0.1:${port} (connection refused).`,
    })
    expect(await tcp({ host: 'localhost', port }).run(context())).toEqual({
      up: false,
      reason: `Nothing listens on localhost:${port} (connection refused).`,
    })
  })

  it('is down where no host has the name', async () => {
    expect(await tcp({ host: 'no-such-host.invalid', port: 80 }).run(context())).toEqual({
      up: false,
      reason: 'No host is named "no-such-host.invalid".',
    })
  })

  it('says what is wrong with a port that is none', async () => {
    expect(await tcp({ port: 70_000 }).run(context())).toEqual({
      up: false,
      reason: '70000 is not a port; one is a whole number from 1 to 65535.',
    })
  })

  it('cannot tell once its time is over, and says so at once', async () => {
    const { server, port } = await listening()
    const reason = new Error('deadline')
    await expect(tcp({ port }).run(context(AbortSignal.abort(reason)))).rejects.toBe(reason)
    const controller = new AbortController()
    const running = tcp({ port }).run(context(controller.signal))
    controller.abort(reason)
    await expect(running).rejects.toBe(reason)
    server.close()
    await once(server, 'close')
  })

  it('describes what it looks at', () => {
    expect(tcp({ port: 5432 }).describe).toEqual({ kind: 'tcp', host: '127.0.0.1', port: 5432 })
  })
})
