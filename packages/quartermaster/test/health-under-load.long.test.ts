import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProject, quartermaster, startUpProcess, writeFiles } from './support/product.ts'

const healthOf = async (url: string) => (await fetch(`${url}/health`)).status

/** A server that leaves its first visitor waiting until it is told to answer. */
async function waitingRoom() {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const visited = once(server, 'request').then(([, response]) => response as { end(): void })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, visited }
}

describe('/health answers', () => {
  it('while a call runs', async () => {
    const room = await waitingRoom()
    const dir = await makeProject({
      'capabilities/slow.js': `
        import { defineCapability, defineTool } from 'quartermaster'
        const handler = async () => (await fetch('${room.url}')).text()
        const slow = defineTool({ name: 'slow', short: 'x', input: { type: 'object' }, mutates: false, handler })
        export default defineCapability({ key: 'slow', short: 'Slow.', tools: [slow] })`,
      'agents/worker.json': '{ "capabilities": { "slow": {} } }',
    })
    const up = await startUpProcess(dir)
    const call = quartermaster(['call', 'slow', '--agent', 'worker', '--json'], { cwd: dir })
    const response = await room.visited
    expect(await healthOf(up.url)).toBe(200)
    response.end()
    expect((await call).code).toBe(0)
  })

  it('while a reload builds', async () => {
    const room = await waitingRoom()
    const dir = await makeProject({ 'quartermaster.config.json': '{ "settings": { "watchFiles": false } }' })
    const up = await startUpProcess(dir)
    await writeFiles(dir, { 'capabilities/slow.js': `await fetch('${room.url}')` })
    const reload = quartermaster(['reload', '--json'], { cwd: dir })
    const response = await room.visited
    expect(await healthOf(up.url)).toBe(200)
    response.end()
    await reload
  })

  it('while the store cannot write', async () => {
    const dir = await makeProject({ 'agents/worker.json': '{ "capabilities": {} }' })
    const up = await startUpProcess(dir)
    const other = new DatabaseSync(join(dir, '.quartermaster', 'store.db'))
    onTestFinished(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    const created = quartermaster(['tokens', 'create', 'worker', '--json'], { cwd: dir })
    const waiting = async () =>
      /^quartermaster_store_waiting ([1-9])/m.test(await (await fetch(`${up.url}/metrics`)).text())
    await expect.poll(waiting).toBe(true)
    expect(await healthOf(up.url)).toBe(200)
    other.exec('ROLLBACK')
    expect((await created).code).toBe(0)
  })
})
