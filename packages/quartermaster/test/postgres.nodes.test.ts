import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type {
  AddedUpstream,
  ApprovalSummary,
  OperationPage,
  StatusReport,
  UpstreamStatus,
} from '../src/contracts/index.ts'
import { endListening, hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { a2aAgent } from './support/a2a-client.ts'
import { GREETER } from './support/greeter.ts'
import { createLeanClient } from './support/lean-client.ts'
import { kill, letsIn, type Node, nodesOn } from './support/nodes.ts'
import { makeProject } from './support/product.ts'

/** Digs, until it is filled in; and burns, which a person has to allow. What is done is noted in one folder. */
const yard = (dir: string) => `
  import { appendFileSync, existsSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { defineCapability, defineTool } from 'quartermaster'
  const near = name => ${JSON.stringify(dir)} + '/' + name
  const note = (what, where) => appendFileSync(near(what), where + '\\n')
  const input = { type: 'object', properties: {} }
  const where = process.env.YARD
  const dig = defineTool({
    name: 'dig', short: 'Digs.', input, idempotent: true, retry: 'replay',
    async handler() {
      note('begun', where)
      while (!existsSync(near('filled'))) await pause(10)
      note('dug', where)
      return 'dug by ' + where
    },
  })
  const burn = defineTool({
    name: 'burn', short: 'Burns.', input, consent: ['yard.burn'],
    handler() { note('burnt', where); return 'burnt by ' + where },
  })
  export default defineCapability({
    key: 'yard', short: 'A yard.', tools: [dig, burn],
    consentOperations: [{ name: 'yard.burn', reason: 'It burns.', weight: 'low' }],
  })
`

interface Issued {
  readonly token: string
  readonly facts: { readonly id: string }
}

/** Two nodes on one database, each with a folder of its own and the same tools. */
async function twoNodes() {
  const shared = await makeProject({ 'greeter.mjs': GREETER })
  const url = await testDatabase()
  const settings = { leaseSeconds: 2, consentWaitSeconds: 60 }
  const startNode = nodesOn(url)
  const start = async (name: string): Promise<Node> => {
    const files = {
      'quartermaster.config.json': JSON.stringify({ settings }),
      'capabilities/yard.js': yard(shared),
      'agents/default.json': '{ "capabilities": { "yard": {} } }',
      'agents/ada.json': '{ "capabilities": { "delegation": {} } }',
      'agents/bob.json': '{ "capabilities": { "inbox": {} } }',
    }
    const node = await startNode({ files, env: { YARD: name } })
    // On a busy machine a file takes its time.
    const tools = async () => (await node.control<unknown[]>('tools')).length
    await expect.poll(tools, POLL).toBeGreaterThan(1)
    return node
  }
  const noted = (what: string) => readFile(join(shared, what), 'utf8').catch(() => '')
  return { url, here: await start('here'), there: await start('there'), shared, noted }
}

const callAt = ({ up }: Node, token: string, tool: string) => {
  const client = createLeanClient(up.url, token)
  return client.call(tool, {}).finally(client.close)
}

/** Ada gives Bob tasks by A2A, and Bob answers them by the API, each on any node. */
async function adaAndBob(nodes: readonly [Node, Node]) {
  const [ada, bob] = await Promise.all(
    ['ada', 'bob'].map(async agent => (await nodes[0].control<Issued>('createToken', { agent })).token),
  )
  for (const node of nodes)
    for (const token of [ada, bob]) await expect.poll(() => letsIn(node, token ?? ''), POLL).toBe(true)
  const asBob = async <T>({ up }: Node, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${bob}`, 'content-type': 'application/json', connection: 'close' }
    const request = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    return (await (await fetch(`${up.url}/api/v1${path}`, request)).json()) as T
  }
  const { workspace } = await asBob<{ workspace: { id: string } }>(nodes[0], 'GET', '/me')
  return {
    bobAt: ({ up }: Node) => a2aAgent(`${up.url}/a2a/${workspace.id}`, ada ?? ''),
    bobTakes: (node: Node) => asBob<{ messages: { text: string }[] }>(node, 'GET', '/inbox?waitSeconds=30&limit=1'),
    bobSays: (node: Node, id: string, message: string, outcome = 'completed') =>
      asBob<object>(node, 'POST', `/delegations/${id}/reply`, { message, outcome }),
  }
}

const POLL = { interval: 20 }

describe.runIf(hasPostgres())('two nodes on one database', () => {
  it('share tokens, answers, A2A tasks, what runs once, and the work of one that is killed', async () => {
    const { here, there, url, shared, noted } = await twoNodes()
    const nodes = async () => (await here.control<StatusReport>('status')).store?.nodes
    expect(await nodes()).toMatchObject([
      { url: here.up.url, isThis: true },
      { url: there.up.url, isThis: false },
    ])
    expect((await there.run('status')).stdout).toMatch(/2 nodes +http:\S+ on \S+.*\n.*\(this one\)/)

    // A token that is made on one is good on the other.
    const issue = () => here.control<Issued>('createToken', { agent: 'default' })
    const [issued, one, other] = await Promise.all([issue(), issue(), issue()])
    const inboxAt = ({ up }: Node, token: string) =>
      fetch(`${up.url}/api/v1/inbox?waitSeconds=60`, {
        headers: { authorization: `Bearer ${token}`, connection: 'close' },
      })
    for (const { token } of [issued, one, other]) await expect.poll(() => letsIn(there, token), POLL).toBe(true)

    // Allowed on one, done for the caller on the other; also when nothing is heard at that moment.
    const burning = callAt(there, issued.token, 'burn')
    const waiting = () => here.control<ApprovalSummary[]>('approvals')
    await expect.poll(async () => (await waiting()).length, POLL).toBe(1)
    const [request] = await waiting()
    await endListening(url)
    await here.control('answerApproval', { id: request?.id, decision: 'allow', lasting: 'once' })
    expect(await burning).toContain('burnt by there')
    expect(await noted('burnt')).toBe('there\n')

    // A token that is taken back on one is refused on the other, and its waiting calls there are refused; also where the notification was lost: then the store is read.
    const inbox = inboxAt(there, one.token)
    await here.control('revokeToken', { id: one.facts.id })
    expect((await inbox).status).toBe(401)
    await expect.poll(() => letsIn(there, one.token), POLL).toBe(false)
    await Promise.all([here.control('revokeToken', { id: other.facts.id }), endListening(url)])
    await expect.poll(() => letsIn(there, other.token), POLL).toBe(false)

    // What runs on one node at a time runs on the first that needs it, and the other says where.
    const entry = { command: process.execPath, args: [join(shared, 'greeter.mjs')], single: true }
    const add = { name: 'greeter', entry, grant: false }
    expect((await there.control<AddedUpstream>('addUpstream', add)).status).toMatchObject({ state: 'up' })
    const elsewhere = (await here.control<AddedUpstream>('addUpstream', add)).status
    expect(elsewhere).toMatchObject({ state: 'elsewhere', reason: expect.stringContaining('process_'), pids: [] })

    // A task that was sent to one is followed, answered and cancelled on the other.
    const { bobAt, bobTakes, bobSays } = await adaAndBob([here, there])
    const { id } = await bobAt(here).send('count')
    const followed = await Promise.all([here, there].map(node => bobAt(node).follow(id)))
    const heard = async () => (await Promise.all(followed.map(states => states.next()))).map(({ value }) => value)
    expect(await heard()).toEqual(['SUBMITTED', 'SUBMITTED'])
    await bobTakes(there)
    expect(await heard()).toEqual(['WORKING', 'WORKING'])
    await bobSays(here, id, 'Which room?', 'in_progress')
    expect(await heard()).toEqual(['INPUT_REQUIRED: Which room?', 'INPUT_REQUIRED: Which room?'])
    await bobAt(there).send('the hall', { taskId: id })
    expect(await heard()).toEqual(['WORKING', 'WORKING'])
    expect((await bobAt(there).cancel(id)).status.state).toBe('TASK_STATE_CANCELED')
    expect(await heard()).toEqual(Array(2).fill(expect.stringMatching(/^CANCELED: /)))
    expect(await heard()).toEqual([undefined, undefined])

    // What a node has in hand when it is killed is done by the other; a task that was sent there goes on here.
    const swept = await bobAt(there).send('sweep')
    const sweeping = await bobAt(here).follow(swept.id)
    const cut = bobAt(there)
      .sendAndWait('sweep')
      .catch(() => 'cut off')
    const dug = callAt(there, issued.token, 'dig').catch((error: unknown) => error)
    await expect.poll(() => existsSync(join(shared, 'begun')), POLL).toBe(true)
    await kill(there)
    await dug
    await writeFile(join(shared, 'filled'), '')
    const last = async () => (await here.control<OperationPage>('operations')).operations[0]
    await expect.poll(last, POLL).toMatchObject({ tool: 'dig', state: 'succeeded' })
    expect([await noted('begun'), await noted('dug')]).toEqual(['there\nhere\n', 'here\n'])
    await expect.poll(async () => (await nodes())?.length, POLL).toBe(1)
    await expect.poll(() => here.control<UpstreamStatus[]>('upstreams'), POLL).toMatchObject([{ state: 'up' }])

    expect(await cut).toBe('cut off')
    const again = bobAt(here).sendAndWait('sweep')
    await bobSays(here, swept.id, 'Swept.')
    expect(await again).toMatchObject({ id: swept.id, status: { state: 'TASK_STATE_COMPLETED' } })
    const states: string[] = []
    for await (const state of sweeping) states.push(state)
    expect([states[0], states.at(-1)]).toEqual(['SUBMITTED', 'COMPLETED'])
  })
})
