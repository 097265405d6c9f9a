import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createControlClient } from '../src/adapters/control-client/index.ts'
import { connectToOwner } from '../src/adapters/data-folder/index.ts'
import type { AuditPage, OperationPage } from '../src/contracts/index.ts'
import { createQuartermaster } from '../src/index.ts'
import { makeProject, quartermaster, type RunningUp, startUp, startUpProcess } from './support/product.ts'

/** A tool that changes something, one that does not, and one that waits for a file after it has said that it runs. */
const POST = `
  import { existsSync, writeFileSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { defineCapability, defineTool } from 'quartermaster'
  const near = name => new URL('../' + name, import.meta.url)
  const input = { type: 'object', properties: { text: { type: 'string' } } }
  const look = defineTool({ name: 'look', short: 'Looks.', input, mutates: false, handler: () => 'seen' })
  const send = defineTool({ name: 'send', short: 'Sends.', input, handler: () => 'sent' })
  const slow = defineTool({ name: 'slow', short: 'Sends slowly.', input, async handler() {
    writeFileSync(near('entered'), '')
    while (!existsSync(near('leave'))) await pause(10)
    return 'sent'
  } })
  export default defineCapability({ key: 'post', short: 'Post.', tools: [look, send, slow] })
`
const SECRET = 'hunter2-und-mehr'

async function postOffice() {
  const dir = await makeProject({
    'capabilities/post.js': POST,
    'agents/default.json': '{ "capabilities": { "post": {} } }',
  })
  const isEntered = () => stat(join(dir, 'entered')).then(Boolean, () => false)
  const entered = async () => void (await expect.poll(isEntered).toBe(true))
  return { dir, entered }
}

/** An `up` in the folder, and its control as the commands use it. */
const upIn = async (dir: string) => controlled(dir, await startUp(dir))
const upProcessIn = async (dir: string) => controlled(dir, await startUpProcess(dir))

async function controlled<Up extends RunningUp>(dir: string, up: Up) {
  const owner = await connectToOwner({ dir: join(dir, '.quartermaster') })
  if (!owner) throw new Error('Nobody owns the folder.')
  const control = createControlClient(owner)
  // `up` does not wait long for a file that takes its time, and on a busy machine every file does.
  const names = async () => (await control.tools({ agent: 'default' })).map(({ name }) => name)
  await expect.poll(names).toContain('slow')
  const call = (tool: string, input: object = {}) => control.call({ agent: 'default', tool, input })
  const operations = async () => (await control.operations({})).operations
  return { up, control, call, operations }
}

/** Every file of the store, as a thief of the disk sees it. */
async function rawStore(dir: string): Promise<string> {
  const data = join(dir, '.quartermaster')
  const files = (await readdir(data)).filter(name => name.startsWith('store.db'))
  return (await Promise.all(files.map(name => readFile(join(data, name), 'latin1')))).join('')
}

function storedArguments(dir: string): unknown[] {
  const database = new DatabaseSync(join(dir, '.quartermaster', 'store.db'), { readOnly: true })
  const rows = database.prepare('select arguments from operations').all() as { arguments: unknown }[]
  database.close()
  return rows.map(row => row.arguments)
}

describe('a call that changes something', () => {
  it('is on record while it runs, its arguments sealed, and afterwards without them', async () => {
    const { dir, entered } = await postOffice()
    const { control, call, operations } = await upIn(dir)
    const answer = call('slow', { text: SECRET })
    await entered()
    const [running] = await operations()
    expect(running).toMatchObject({ agent: 'default', tool: 'slow', state: 'leased', mutates: true })
    const id = running?.id ?? ''
    expect(await control.operation({ id })).toMatchObject({ arguments: { text: '•••' } })
    expect(storedArguments(dir)).toEqual([expect.stringMatching(/^s1\./)])
    expect(await rawStore(dir)).not.toContain(SECRET)
    await writeFile(join(dir, 'leave'), '')
    expect(await answer).toMatchObject({ operationId: id })
    expect(await operations()).toMatchObject([{ id, state: 'succeeded', outcome: 'succeeded' }])
    expect(await control.audit({})).toMatchObject({ lines: [{ operationId: id, tool: 'slow', outcome: 'succeeded' }] })
    expect(storedArguments(dir)).toEqual([null])
    expect(await rawStore(dir)).not.toContain(SECRET)
  })

  it('that a kill cut off has an unknown outcome after the next start', async () => {
    const { dir, entered } = await postOffice()
    const { up, call } = await upProcessIn(dir)
    const answer = call('slow').catch((error: unknown) => error)
    await entered()
    await Promise.all([up.kill(), answer])
    const { up: next, control, operations } = await upIn(dir)
    const [left] = await operations()
    // Announced like every change, to followers.
    const told = `"message":"operation.changed","id":"${left?.id}"`
    await expect.poll(() => next.stderr()).toContain(told)
    expect(left).toMatchObject({ tool: 'slow', state: 'unknown', outcome: 'unknown', code: 'OUTCOME_UNKNOWN' })
    const shown = await control.operation({ id: left?.id ?? '' })
    expect(shown.canRetry).toBe(true)
    expect(shown.error).toMatchObject({ retry: 'verifyFirst' })
    expect(await control.audit({})).toMatchObject({
      lines: [{ operationId: left?.id, outcome: 'unknown', code: 'OUTCOME_UNKNOWN' }],
    })
  })

  it('that stopping cut off is on record as that', async () => {
    const { dir, entered } = await postOffice()
    const { up, call } = await upIn(dir)
    const answer = call('slow').catch((error: unknown) => error)
    await entered()
    expect(await up.stop()).toBe(0)
    expect(await answer).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await (await upIn(dir)).operations()).toMatchObject([{ state: 'unknown', code: 'OUTCOME_UNKNOWN' }])
  })

  it('is recorded by a command of its own, too', async () => {
    const { dir } = await postOffice()
    const run = (...args: string[]) => quartermaster([...args, '--json'], { cwd: dir })
    expect((await run('call', 'send')).code).toBe(0)
    const { operations } = (await run('operations', 'list')).json<OperationPage>()
    expect(operations).toMatchObject([{ tool: 'send', state: 'succeeded' }])
    expect((await run('logs')).json<AuditPage>().lines).toMatchObject([{ operationId: operations[0]?.id }])
  })
})

describe('the audit of calls that change nothing', () => {
  it('is written before the process ends', async () => {
    const { dir } = await postOffice()
    const { up, call } = await upIn(dir)
    await call('look')
    await expect(call('lok')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
    expect(await up.stop()).toBe(0)
    const { control, operations } = await upIn(dir)
    expect((await control.audit({})).lines).toMatchObject([
      { tool: 'lok', decision: 'refused', outcome: 'notRun', code: 'TOOL_NOT_FOUND' },
      { tool: 'look', decision: 'allowed', outcome: 'succeeded', code: null },
    ])
    expect(await operations()).toEqual([])
  })
})

describe('a program', () => {
  async function programIn(dir: string) {
    const program = await createQuartermaster({ dir, env: {} })
    onTestFinished(() => program.stop())
    return { program, call: (tool: string) => program.call({ agent: 'default', tool }) }
  }

  it('touches no data folder as long as it only reads, and owns it from the first call that does more', async () => {
    const { dir } = await postOffice()
    const { program, call } = await programIn(dir)
    await call('look')
    expect(await readdir(dir)).not.toContain('.quartermaster')
    const { operationId } = await call('send')
    expect(await program.control.operation({ id: operationId })).toMatchObject({ tool: 'send', state: 'succeeded' })
    const up = await quartermaster(['up', '--port', '0'], { cwd: dir })
    expect(up.stderr).toContain('STORE_LOCKED')
    await program.stop()
    await startUp(dir)
  })

  it('changes nothing in a folder that an up owns, and goes on when it is gone', async () => {
    const { dir } = await postOffice()
    const { up, operations } = await upIn(dir)
    const { call } = await programIn(dir)
    expect((await call('look')).result.content).toEqual([{ type: 'text', text: 'seen' }])
    await expect(call('send')).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    expect(await operations()).toEqual([])
    await up.stop()
    expect((await call('send')).result.content).toEqual([{ type: 'text', text: 'sent' }])
  })
})
