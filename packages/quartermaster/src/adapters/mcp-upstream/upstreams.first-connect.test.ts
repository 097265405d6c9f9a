import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { ILL_SERVER, tempFolder } from './testing/child-fixture.ts'
import { entry, stage } from './testing/upstreams-fixture.ts'

/** Longer than any test lasts. */
const LONG_MS = 600_000

const hanging = (options: object = {}) =>
  UpstreamConfig.parse({ command: 'sleep', args: ['1000'], era: 'legacy', ...options })

/** A program that fails the first time it is started, and no other time. */
async function failingOnce(options: object = {}) {
  const mark = join(await tempFolder(), 'tried')
  const script = `[ -e "$0" ] && exec "$@"; touch "$0"; exit 1`
  const args = ['-c', script, mark, process.execPath, ILL_SERVER]
  return UpstreamConfig.parse({ command: 'sh', args, era: 'legacy', ...options })
}

/** A server that lets nobody in. */
async function closedServer() {
  const server = createServer((_request, response) => void response.writeHead(401).end())
  onTestFinished(() => void server.close())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return UpstreamConfig.parse({ type: 'http', url: `http://127.0.0.1:${port}/mcp` })
}

describe('whoever waits for a server that nobody has seen, because of a call', () => {
  it.each(['eager', 'lazy'])('gets what it has when it comes up on a later start, where it is %s', async start => {
    const { upstreams, configure, toolNames, status } = await stage({ which: 'first' })
    await configure({ ill: await failingOnce({ start }) })
    expect(await upstreams.meetNow('ill', LONG_MS)).toBe(true)
    expect(await toolNames()).toContain('ill_add')
    expect(status()?.restarts).toBe(1)
  })

  it('gets what the one has that is put in its place meanwhile', async () => {
    const { upstreams, configure, status, toolNames } = await stage({ which: 'first' })
    await configure({ ill: hanging() })
    const met = upstreams.meetNow('ill', LONG_MS)
    await expect.poll(() => status()?.state).toBe('starting')
    await configure({ ill: entry() })
    expect(await met).toBe(true)
    expect(await toolNames()).toContain('ill_add')
  })

  it.each([
    ['is removed', {}],
    ['is switched off', { ill: hanging({ enabled: false }) }],
  ])('waits no longer when it %s', async (_what, next) => {
    const { upstreams, configure, status } = await stage({ which: 'first' })
    await configure({ ill: hanging() })
    const met = upstreams.meetNow('ill', LONG_MS)
    await expect.poll(() => status()?.state).toBe('starting')
    await configure(next)
    expect(await met).toBe(false)
  })

  it('does not wait for somebody to sign in', async () => {
    const { upstreams, configure } = await stage({ which: 'first' })
    await configure({ ill: await closedServer() })
    expect(await upstreams.meetNow('ill', LONG_MS)).toBe(false)
  })

  it('does not wait for the end of the pauses of one that has been failing for long', async () => {
    const { upstreams, configure, status } = await stage({ which: 'first', recoveringSeconds: 0 })
    await configure({ ill: entry({ command: '/there/is/no/such/program' }) })
    await expect.poll(() => status()?.state).toBe('down')
    expect(await upstreams.meetNow('ill', LONG_MS)).toBe(false)
  })

  it('waits no longer when all is stopped', async () => {
    const { upstreams, configure, status } = await stage({ which: 'first' })
    await configure({ ill: hanging() })
    const met = upstreams.meetNow('ill', LONG_MS)
    await expect.poll(() => status()?.state).toBe('starting')
    await upstreams.stop()
    expect(await met).toBe(false)
  })
})

it('tells of one that a command has begun to start, and that does not answer, how to wait for it', async () => {
  const { configure, status } = await stage({ which: 'unseen' })
  await configure({ ill: hanging() })
  await expect
    .poll(() => status())
    .toMatchObject({
      state: 'starting',
      unseen: 'Wait for it: quartermaster upstreams restart ill, or: quartermaster up',
    })
})
