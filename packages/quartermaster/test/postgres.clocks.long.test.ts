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

const POLL = { interval: 20 }

/** The clock of a machine that is wrong by what a file says, from the start or from a moment on. */
const WRONG = (file: string) => `
  import { readFileSync } from 'node:fs'
  const wrongMs = () => Number(readFileSync(${JSON.stringify(file)}, 'utf8'))
  const [now, origin] = [Date.now, performance.timeOrigin + wrongMs()]
  Date.now = () => now.call(Date) + wrongMs()
  Object.defineProperty(performance, 'timeOrigin', { value: origin })
`

/** Digs until it is filled in, and notes each beginning. */
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

const TEN_MINUTES = 600_000

/** Three nodes: one that is right, runs something that exists once and digs, one whose clock is ahead, and one whose clock is behind. */
async function threeClocks() {
  const shared = await makeProject({ 'greeter.mjs': GREETER })
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

  const fileOf = (name: string) => join(shared, name)
  const put = (name: string, wrongMs: number) => writeFile(fileOf(name), String(wrongMs))
  async function startWrong(name: string, wrongMs: number): Promise<Node> {
    await put(name, wrongMs)
    await writeFile(fileOf(`${name}.mjs`), WRONG(fileOf(name)))
    const node = await start({ files, env: { NODE_OPTIONS: `--import ${pathToFileURL(fileOf(`${name}.mjs`))}` } })
    expect((await node.control<AddedUpstream>('addUpstream', add)).status).toMatchObject({ state: 'elsewhere' })
    return node
  }
  const ahead = await startWrong('ahead', TEN_MINUTES)
  const behind = await startWrong('behind', -TEN_MINUTES)

  /** Two leases later everybody has looked at every other one's. */
  const leasesLater = async () => {
    const soonest = async () => Number((await ask(url, 'select min("lease_until") as at from nodes'))[0]?.at)
    const before = await soonest()
    // Each look is a connection of its own.
    await expect.poll(soonest, { ...POLL, interval: 200 }).toBeGreaterThan(before + 4_000)
  }
  const fill = () => writeFile(join(shared, 'filled'), '')
  return { here, ahead, behind, digging, put, leasesLater, fill, begun: () => readFile(join(shared, 'begun'), 'utf8') }
}

const nodeCount = async (node: Node) => (await node.control<StatusReport>('status')).store?.nodes?.length
const stateOf = async (node: Node) => (await node.control<UpstreamStatus[]>('upstreams'))[0]?.state

describe.runIf(hasPostgres())('nodes whose clocks do not agree', () => {
  it('leave each other what they have, also when a clock is put back or forward', async () => {
    const { here, ahead, behind, digging, put, leasesLater, fill, begun } = await threeClocks()
    const nodes = [here, ahead, behind]
    const leavesEachOther = async () => {
      await leasesLater()
      expect(await Promise.all(nodes.map(nodeCount))).toEqual([3, 3, 3])
      expect(await Promise.all(nodes.map(stateOf))).toEqual(['up', 'elsewhere', 'elsewhere'])
    }
    await leavesEachOther()
    await put('ahead', -TEN_MINUTES)
    await leavesEachOther()
    await put('behind', TEN_MINUTES)
    await leavesEachOther()
    await fill()
    expect(await digging).toContain('dug')
    expect(await begun()).toBe('.')
    // What one dates the others judge.
    for (const wrong of [ahead, behind]) {
      expect(wrong.up.stderr()).toMatch(/clock.*database/)
      const { operations } = await wrong.control<OperationPage>('operations')
      expect(operations).toMatchObject([{ tool: 'dig', state: 'succeeded' }])
    }
  })
})
