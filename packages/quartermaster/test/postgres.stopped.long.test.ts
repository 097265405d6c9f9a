import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AddedUpstream, OperationPage, StatusReport, UpstreamStatus } from '../src/contracts/index.ts'
import { hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { GREETER } from './support/greeter.ts'
import { createLeanClient } from './support/lean-client.ts'
import { type Node, nodesOn } from './support/nodes.ts'
import { makeProject } from './support/product.ts'

const POLL = { interval: 20 }

/** Digs until it is filled in on this node, and notes where. */
const YARD = (dir: string) => `
  import { appendFileSync, existsSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { defineCapability, defineTool } from 'quartermaster'
  const near = name => ${JSON.stringify(dir)} + '/' + name
  const where = process.env.YARD
  const dig = defineTool({
    name: 'dig', short: 'Digs.', input: { type: 'object', properties: {} }, idempotent: true, retry: 'replay',
    async handler() {
      appendFileSync(near('begun'), where + ' ')
      while (!existsSync(near('filled-' + where))) await pause(10)
      return 'dug by ' + where
    },
  })
  export default defineCapability({ key: 'yard', short: 'A yard.', tools: [dig] })
`

async function twoNodes() {
  const shared = await makeProject({ 'greeter.mjs': GREETER })
  const start = nodesOn(await testDatabase())
  const files = {
    'quartermaster.config.json': JSON.stringify({ settings: { leaseSeconds: 2 } }),
    'capabilities/yard.js': YARD(shared),
    'agents/default.json': '{ "capabilities": { "yard": {} } }',
  }
  const [there, here] = [await start({ files, env: { YARD: 'there' } }), await start({ files, env: { YARD: 'here' } })]
  const entry = { command: process.execPath, args: [join(shared, 'greeter.mjs')], single: true }
  for (const node of [there, here])
    await node.control<AddedUpstream>('addUpstream', { name: 'greeter', entry, grant: false })
  const fill = (where: string) => writeFile(join(shared, `filled-${where}`), '')
  const begun = async () => (existsSync(join(shared, 'begun')) ? readFile(join(shared, 'begun'), 'utf8') : '')
  return { here, there, fill, begun }
}

const greeterOf = async (node: Node) => (await node.control<UpstreamStatus[]>('upstreams'))[0]
const nodeCount = async (node: Node) => (await node.control<StatusReport>('status')).store?.nodes?.length

describe.runIf(hasPostgres() && process.platform !== 'win32')('a node that is stopped and goes on', () => {
  it('gives up what others have taken meanwhile, and its late word does not count', async () => {
    const { here, there, fill, begun } = await twoNodes()
    expect([await greeterOf(there), await greeterOf(here)]).toMatchObject([{ state: 'up' }, { state: 'elsewhere' }])
    const { token } = await there.control<{ token: string }>('createToken', { agent: 'default' })
    const client = createLeanClient(there.up.url, token)
    const dug = client
      .call('dig', {})
      .catch((error: unknown) => String(error))
      .finally(client.close)
    await expect.poll(begun, POLL).toBe('there ')

    there.up.child.kill('SIGSTOP')
    await expect.poll(begun, POLL).toBe('there here ')
    await expect.poll(() => greeterOf(here), POLL).toMatchObject({ state: 'up' })
    await expect.poll(() => nodeCount(here), POLL).toBe(1)
    await fill('there')
    there.up.child.kill('SIGCONT')
    await expect.poll(() => greeterOf(there), POLL).toMatchObject({ state: 'elsewhere', pids: [] })
    await expect.poll(() => nodeCount(here), POLL).toBe(2)
    expect(await greeterOf(here)).toMatchObject({ state: 'up' })
    const last = async () => (await here.control<OperationPage>('operations')).operations[0]
    expect(await last()).toMatchObject({ tool: 'dig', state: 'leased' })
    await fill('here')
    await expect.poll(last, POLL).toMatchObject({ tool: 'dig', state: 'succeeded' })
    // The waiting caller is told that the outcome is unknown, and which operation to look at.
    expect(await dug).toMatch(/OUTCOME_UNKNOWN.*op_/)
    expect(await begun()).toBe('there here ')
  })
})
