import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { AddedUpstream, OperationPage, StatusReport, UpstreamStatus } from '../src/contracts/index.ts'
import { ask, hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { GREETER } from './support/greeter.ts'
import { createLeanClient } from './support/lean-client.ts'
import { type Node, nodesOn } from './support/nodes.ts'
import { makeProject } from './support/product.ts'

const POLL = { timeout: 20_000, interval: 20 }

/** The clock of a machine that is wrong by what a file says, from the start or from a moment on. */
const WRONG = (file: string) => `
  import { readFileSync } from 'node:fs'
  const wrongMs = () => Number(readFileSync(${JSON.stringify(file)}, 'utf8'))
  const [now, origin] = [Date.now, performance.timeOrigin + wrongMs()]
  Date.now = () => now.call(Date) + wrongMs()
  Object.defineProperty(performance, 'timeOrigin', { value: origin })
`

/** Digs for as long as nobody has filled it in, and notes each beginning. */
const YARD = (dir: string) => `
  import { appendFileSync, existsSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { defineCapability, defineTool } from 'quartermaster'
  const near = name => ${JSON.stringify(dir)} + '/' + name
  const dig = defineTool({
    name: 'dig', short: 'Digs.', input: { type: 'object', properties: {} }, idempotent: true, retry: 'replay',
    async handler() {
      appendFileSync(near('begun'), '.')
      while (!existsSync(near('filled'))) await pause(10)
      return 'dug'
    },
  })
  export default defineCapability({ key: 'yard', short: 'A yard.', tools: [dig] })
`

/** Two nodes, of which the second one's clock is wrong. The first runs something that exists once. */
async function twoClocks(wrongMs: number) {
  const shared = await makeProject({ 'greeter.mjs': GREETER, wrong: String(wrongMs) })
  const wrongFile = join(shared, 'wrong')
  await writeFile(join(shared, 'wrong.mjs'), WRONG(wrongFile))
  const url = await testDatabase()
  const start = nodesOn(url)
  const files = {
    'quartermaster.config.json': JSON.stringify({ settings: { leaseSeconds: 2 } }),
    'capabilities/yard.js': YARD(shared),
    'agents/default.json': '{ "capabilities": { "yard": {} } }',
  }
  const here = await start({ files })
  const entry = { command: process.execPath, args: [join(shared, 'greeter.mjs')], single: true }
  const add = { name: 'greeter', entry, grant: false }
  expect((await here.control<AddedUpstream>('addUpstream', add)).status).toMatchObject({ state: 'up' })
  const { token } = await here.control<{ token: string }>('createToken', { agent: 'default' })
  const client = createLeanClient(here.up.url, token)
  const digging = client.call('dig', {}).finally(client.close)
  await expect.poll(() => existsSync(join(shared, 'begun')), POLL).toBe(true)
  const there = await start({ files, env: { NODE_OPTIONS: `--import ${pathToFileURL(join(shared, 'wrong.mjs'))}` } })
  expect((await there.control<AddedUpstream>('addUpstream', add)).status).toMatchObject({ state: 'elsewhere' })
  /** Two leases later everybody has looked at every other one's. */
  const leasesLater = async () => {
    const soonest = async () => Number((await ask(url, 'select min("lease_until") as at from nodes'))[0]?.at)
    const before = await soonest()
    await expect.poll(soonest, POLL).toBeGreaterThan(before + 4_000)
  }
  const jump = (ms: number) => writeFile(wrongFile, String(ms))
  const fill = () => writeFile(join(shared, 'filled'), '')
  return { here, there, digging, jump, leasesLater, fill, begun: () => readFile(join(shared, 'begun'), 'utf8'), token }
}

const nodeCount = async (node: Node) => (await node.control<StatusReport>('status')).store?.nodes?.length
const stateOf = async (node: Node) => (await node.control<UpstreamStatus[]>('upstreams'))[0]?.state

describe.runIf(hasPostgres())('nodes whose clocks do not agree', { timeout: 120_000 }, () => {
  it.each([600_000, -600_000])('leave each other what they have (%i ms)', async wrongMs => {
    const { here, there, digging, leasesLater, fill, begun, token } = await twoClocks(wrongMs)
    await leasesLater()
    expect([await nodeCount(here), await nodeCount(there)]).toEqual([2, 2])
    expect([await stateOf(here), await stateOf(there)]).toEqual(['up', 'elsewhere'])
    await fill()
    expect(await digging).toContain('dug')
    expect(await begun()).toBe('.')
    expect(there.up.stderr()).toMatch(/clock.*database/)
    // What one dates the other judges.
    const operations = (await there.control<OperationPage>('operations')).operations
    expect(operations).toMatchObject([{ tool: 'dig', state: 'succeeded' }])
    expect(token).not.toBe('')
  })

  it('leave each other what they have when one of the clocks is put forward, and back', async () => {
    const { here, there, digging, jump, leasesLater, fill, begun } = await twoClocks(0)
    for (const ms of [600_000, -600_000, 0]) {
      await jump(ms)
      await leasesLater()
      expect([await nodeCount(here), await nodeCount(there)]).toEqual([2, 2])
      expect([await stateOf(here), await stateOf(there)]).toEqual(['up', 'elsewhere'])
    }
    await fill()
    expect(await digging).toContain('dug')
    expect(await begun()).toBe('.')
  })
})
