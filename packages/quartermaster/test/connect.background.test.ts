import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createControlClient } from '../src/adapters/control-client/index.ts'
import { connectToOwner } from '../src/adapters/data-folder/index.ts'
import { deferred } from '../src/testing/deferred.ts'
import { connectClient, endBackgroundAfter, fixtureProject, ownerOf } from './support/bridge.ts'
import { quartermaster, startUpProcess, writeFiles } from './support/product.ts'

const TRANSFER = `
  import { existsSync, writeFileSync } from 'node:fs'
  import { setTimeout as wait } from 'node:timers/promises'
  import { defineCapability, defineTool } from 'quartermaster'
  const here = name => new URL('../' + name, import.meta.url)
  export default defineCapability({
    key: 'bank', short: 'A bank.',
    tools: [defineTool({
      name: 'transfer', short: 'Transfers.', input: { type: 'object', properties: {} }, mutates: true,
      handler: async (_, { signal }) => {
        writeFileSync(here('started.txt'), '')
        while (!existsSync(here('go.txt'))) await wait(10, undefined, { signal })
        return 'transferred'
      },
    })],
  })
`

/** What others may do with a file; Windows keeps that elsewhere. */
const OTHERS = process.platform === 'win32' ? 0 : 0o077

/** Tells by which mark the process of an `up` would be ended with the program that it was started from. */
const MARK = `
  import { defineCapability, defineTool } from 'quartermaster'
  export default defineCapability({
    key: 'mark', short: 'A mark.',
    tools: [defineTool({
      name: 'mark', short: 'Tells it.', input: { type: 'object', properties: {} }, mutates: false,
      handler: () => String(process.env.QUARTERMASTER_UPSTREAM),
    })],
  })
`

describe('connect where nothing runs', () => {
  it('starts one up for all who come at once, which leaves when the last has gone', async () => {
    const dir = await fixtureProject({
      'capabilities/mark.ts': MARK,
      'agents/default.json': '{ "capabilities": { "desk": {}, "mark": {} } }',
    })
    endBackgroundAfter(dir)
    const clients = await Promise.all([connectClient(dir, 'legacy'), connectClient(dir, 'legacy')])
    const answers = await Promise.all(clients.map(({ client }) => client.callTool({ name: 'work' })))
    expect(answers.map(({ content }) => content)).toEqual([
      [{ type: 'text', text: 'worked' }],
      [{ type: 'text', text: 'worked' }],
    ])
    const log = join(dir, '.quartermaster', 'up.log')
    const started = (await readFile(log, 'utf8')).split('\n').filter(line => line.startsWith('{"url"'))
    expect(started).toHaveLength(1)
    expect(started[0]).not.toContain('token')
    expect((await stat(log)).mode & OTHERS).toBe(0)
    // A client may itself be the program of another gateway.
    expect((await clients[0]?.client.callTool({ name: 'mark' }))?.content).toEqual([{ type: 'text', text: 'none' }])
    await clients[0]?.client.close()
    expect((await clients[1]?.client.callTool({ name: 'work' }))?.isError).not.toBe(true)
    await clients[1]?.client.close()
    await expect.poll(() => ownerOf(dir)).toBeUndefined()
  })

  it('works with what --print gives, from another folder', async () => {
    const dir = await fixtureProject()
    endBackgroundAfter(dir)
    const { args } = (await quartermaster(['connect', '--print', 'cursor', '--json'], { cwd: dir })).json<{
      args: string[]
    }>()
    const { client } = await connectClient(tmpdir(), 'auto', { args: args.slice(2) })
    expect((await client.callTool({ name: 'work' })).content).toEqual([{ type: 'text', text: 'worked' }])
  })

  it('gives way to an up that a person starts, and clients stay connected', async () => {
    const dir = await fixtureProject()
    endBackgroundAfter(dir)
    const { client } = await connectClient(dir, 'legacy')
    await client.callTool({ name: 'work' })
    const background = await ownerOf(dir)
    const up = await startUpProcess(dir)
    expect(up.child.pid).not.toBe(background)
    expect(await ownerOf(dir)).toBe(up.child.pid)
    expect((await client.callTool({ name: 'work' })).content).toEqual([{ type: 'text', text: 'worked' }])
  })

  it('lets a call that runs end before it gives way', async () => {
    const dir = await fixtureProject({
      'capabilities/bank.ts': TRANSFER,
      'agents/default.json': '{ "capabilities": { "bank": {} } }',
    })
    endBackgroundAfter(dir)
    const { client } = await connectClient(dir, 'legacy')
    const transfer = client.callTool({ name: 'transfer' })
    await expect.poll(() => existsSync(join(dir, 'started.txt'))).toBe(true)
    const owner = await connectToOwner({ dir: join(dir, '.quartermaster') })
    expect(owner && (await createControlClient(owner).stepAside({}))).toEqual({ leaving: true })
    await writeFiles(dir, { 'go.txt': '' })
    expect((await transfer).content).toEqual([{ type: 'text', text: 'transferred' }])
    await expect.poll(() => ownerOf(dir)).toBeUndefined()
  })

  it('stays while a client follows its events, and then ends', async () => {
    const dir = await fixtureProject({
      'quartermaster.config.json': '{ "settings": { "backgroundIdleSeconds": 1, "recoveringSeconds": 0 } }',
    })
    endBackgroundAfter(dir)
    const { client } = await connectClient(dir, 'legacy')
    await client.callTool({ name: 'work' })
    const owner = await connectToOwner({ dir: join(dir, '.quartermaster') })
    const [leaving, begun] = [new AbortController(), deferred()]
    const told = { signal: leaving.signal, onEvent: () => begun.resolve() }
    const followed = owner && createControlClient(owner).events({}, told)
    const isOver = followed?.catch((error: unknown) => error)
    await begun.promise
    await client.close()
    // Four times as long as it stays without a client.
    const until = performance.now() + 4_000
    const standing = async () => ({ pid: await ownerOf(dir), isLate: performance.now() > until })
    await expect.poll(standing).toEqual({ pid: expect.any(Number), isLate: true })
    leaving.abort()
    await isOver
    await expect.poll(() => ownerOf(dir)).toBeUndefined()
  })

  it('says why it cannot be started', async () => {
    const dir = await fixtureProject({ 'quartermaster.config.json': '{ "settings": { "nonsense": 1 } }' })
    await expect(connectClient(dir, 'legacy')).rejects.toThrow('nonsense')
    expect(existsSync(join(dir, '.quartermaster', 'endpoint.json'))).toBe(false)
  })
})
