import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { CallAnswer, OperationFacts, OperationPage } from '../src/contracts/index.ts'
import { makeProject, quartermaster, startUp, startUpProcess } from './support/product.ts'

/** Posts letters once the office is open, and notes every try; one more that waits for a file and may not be repeated. */
const POST = `
  import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { AppError, defineCapability, defineTool } from 'quartermaster'
  const near = name => new URL('../' + name, import.meta.url)
  const input = { type: 'object', properties: { to: { type: 'string' } } }
  const post = defineTool({
    name: 'post', short: 'Posts.', input, idempotent: true, retry: 'replay',
    handler({ to }) {
      appendFileSync(near('tries'), to + '\\n')
      if (!existsSync(near('open'))) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The office is closed.')
      appendFileSync(near('posted'), to + '\\n')
      return 'posted to ' + to
    },
  })
  const slow = defineTool({ name: 'slow', short: 'Posts slowly.', input, async handler({}, { signal }) {
    writeFileSync(near('entered'), '')
    while (!signal.aborted) await pause(10)
    throw signal.reason
  } })
  export default defineCapability({ key: 'office', short: 'Post.', tools: [post, slow] })
`
const HOUR = { retryFirstSeconds: 3_600, retryLongestSeconds: 3_600 }

async function office(settings: Record<string, number> = HOUR) {
  const dir = await makeProject({
    'quartermaster.config.json': JSON.stringify({ settings }),
    'capabilities/office.js': POST,
    'agents/default.json': '{ "capabilities": { "office": {} } }',
  })
  const lines = async (name: string) =>
    (await readFile(join(dir, name), 'utf8').catch(() => '')).split('\n').filter(line => line !== '')
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  const up = async <Up>(start: (dir: string) => Promise<Up>): Promise<Up> => {
    const started = await start(dir)
    // `up` does not wait long for a file that takes its time, and on a busy machine every file does.
    const known = async () => (await run('tools', 'post')).code
    await expect.poll(known).toBe(0)
    return started
  }
  const show = async (id: string) => (await run('operations', 'show', id, '--json')).json<OperationFacts>()
  return {
    dir,
    run,
    up: () => up(startUp),
    upProcess: () => up(startUpProcess),
    show,
    open: () => writeFile(join(dir, 'open'), ''),
    tries: () => lines('tries'),
    posted: () => lines('posted'),
    /** Calls it while the office is closed. */
    async postLater(to = 'eve') {
      const answer = (await run('call', 'post', `to=${to}`, '--json')).json<CallAnswer>()
      expect(answer.waiting).toMatchObject({ status: 'waiting', for: 'retry', operationId: answer.operationId })
      return answer.operationId
    },
  }
}

describe('a call that fails for now', () => {
  it('answers with a handle, is listed as waiting, and is done when a person retries it', async () => {
    const at = await office()
    await at.up()
    const called = await at.run('call', 'post', 'to=eve')
    expect([called.code, called.stdout]).toEqual([14, ''])
    expect(called.stderr).toContain('"post" could not be done now. It is retried automatically, in ')
    const listed = (await at.run('operations', 'list', '--state', 'queued', '--json')).json<OperationPage>()
    expect(listed.operations).toMatchObject([{ tool: 'post', state: 'queued', code: 'DEPENDENCY_UNAVAILABLE' }])
    const id = listed.operations[0]?.id ?? ''
    expect(called.stderr).toContain(`quartermaster operations retry ${id}`)
    const shown = await at.run('operations', 'show', id)
    expect(shown.stdout).toMatch(/^Next attempt +20\d\d-/m)
    expect(shown.stdout).toMatch(/^Expires +20\d\d-/m)
    expect(shown.stdout).toMatch(/^Arguments +to=•••$/m)

    const early = await at.run('operations', 'retry', id)
    expect([early.code, early.stdout]).toEqual([14, ''])
    expect(early.stderr).toContain('DEPENDENCY_UNAVAILABLE: The office is closed.')
    await at.open()
    const retried = await at.run('operations', 'retry', id)
    expect(retried).toMatchObject({ code: 0, stdout: `✓ "post" is done. (${id})\n`, stderr: '' })
    expect([await at.tries(), await at.posted()]).toEqual([['eve', 'eve', 'eve'], ['eve']])
    expect(await at.show(id)).toMatchObject({ state: 'succeeded' })
    expect(await at.run('operations', 'retry', id, '--json')).toMatchObject({ code: 8 })
  })

  it('is gone on with by the next up when the first is killed', async () => {
    const at = await office({ retryFirstSeconds: 2, retryLongestSeconds: 2, retryAttempts: 100 })
    const first = await at.upProcess()
    const id = await at.postLater()
    await first.kill()
    await at.open()
    await at.upProcess()
    await expect.poll(() => at.posted()).toEqual(['eve'])
    await expect.poll(async () => (await at.show(id)).state).toBe('succeeded')
    expect((await at.show(id)).result?.content).toEqual([{ type: 'text', text: 'posted to eve' }])
  })

  it('is tried by a command of its own, where no up runs', async () => {
    const at = await office()
    const called = await at.run('call', 'post', 'to=eve')
    expect(called.code).toBe(14)
    expect(called.stderr).toContain('once an `up` runs')
    const [id = ''] = /op_[\w-]+/.exec(called.stderr) ?? []
    await at.open()
    expect(await at.run('operations', 'retry', id)).toMatchObject({ code: 0 })
    expect(await at.posted()).toEqual(['eve'])
  })

  it('is not run any more once it is cancelled', async () => {
    const at = await office()
    await at.up()
    const id = await at.postLater()
    const cancelled = await at.run('operations', 'cancel', id)
    expect(cancelled).toMatchObject({ code: 0, stdout: `✓ "post" is cancelled: it is not run any more. (${id})\n` })
    expect(await at.show(id)).toMatchObject({ state: 'cancelled', code: 'CANCELLED' })
    const again = await at.run('operations', 'cancel', id, '--json')
    expect([again.code, again.json()]).toMatchObject([8, { error: { code: 'REQUEST_REFUSED' } }])
    await at.open()
    expect((await at.run('operations', 'retry', id)).code).toBe(8)
    expect(await at.posted()).toEqual([])
  })

  it('that was given up is among the dead until it is tried again or dropped', async () => {
    const at = await office({ ...HOUR, retryAttempts: 1 })
    await at.up()
    expect((await at.run('call', 'post', 'to=eve')).code).toBe(5)
    expect((await at.run('call', 'post', 'to=ada')).code).toBe(5)
    const dead = async () =>
      (await at.run('operations', 'list', '--dead', '--json')).json<OperationPage>().operations.map(({ id }) => id)
    const [ada = '', eve = ''] = await dead()
    expect(await at.show(ada)).toMatchObject({ state: 'exhausted', canRetry: true, arguments: { to: '•••' } })
    const dropped = (await at.run('operations', 'drop', ada, '--json')).json<OperationFacts>()
    expect(dropped).toMatchObject({ id: ada, state: 'exhausted' })
    expect(dropped).not.toHaveProperty('canRetry')
    expect(await dead()).toEqual([eve])
    expect((await at.run('operations', 'drop', ada)).code).toBe(8)
    await at.open()
    expect((await at.run('operations', 'retry', eve)).code).toBe(0)
    expect([await dead(), await at.posted()]).toEqual([[], ['eve']])
  })
})

describe('a call that runs', () => {
  it('is stopped by a cancellation, and may have done its work', async () => {
    const at = await office()
    await at.up()
    const answer = at.run('call', 'slow')
    const entered = () => readFile(join(at.dir, 'entered')).then(Boolean, () => false)
    await expect.poll(entered).toBe(true)
    const [running] = (await at.run('operations', 'list', '--json')).json<OperationPage>().operations
    const cancelled = await at.run('operations', 'cancel', running?.id ?? '')
    expect(cancelled).toMatchObject({ code: 1, stderr: expect.stringContaining('may have done its work') })
    expect(await answer).toMatchObject({ code: 5, stderr: expect.stringContaining('OUTCOME_UNKNOWN') })
    expect(await at.show(running?.id ?? '')).toMatchObject({ state: 'unknown' })
  })
})

describe('call --idempotency-key', () => {
  it('runs it once, also after a restart, and refuses other arguments', async () => {
    const at = await office()
    await at.open()
    const first = await at.up()
    const post = (to: string, key = 'letter-1') =>
      at.run('call', 'post', `to=${to}`, '--idempotency-key', key, '--json')
    const answer = (await post('eve')).json<CallAnswer>()
    expect((await post('eve')).json()).toEqual(answer)
    await first.stop()
    expect((await post('eve')).json()).toEqual(answer)
    await at.up()
    expect((await post('eve')).json()).toEqual(answer)
    expect(await at.posted()).toEqual(['eve'])

    const conflict = await post('ada')
    expect([conflict.code, conflict.json()]).toMatchObject([10, { error: { code: 'IDEMPOTENCY_CONFLICT' } }])
    expect((await post('ada', 'letter-2')).code).toBe(0)
    expect(await at.posted()).toEqual(['eve', 'ada'])
    expect(await at.show(answer.operationId)).toMatchObject({ idempotencyKey: 'letter-1', state: 'succeeded' })
  })

  it('gives the same handle while the first call waits, and its answer afterwards', async () => {
    const at = await office()
    await at.up()
    const post = () => at.run('call', 'post', 'to=eve', '--idempotency-key', 'letter-1', '--json')
    const [first, second] = [await post(), await post()]
    expect([first.code, second.code]).toEqual([14, 14])
    const { operationId } = first.json<CallAnswer>()
    expect(second.json<CallAnswer>().waiting).toEqual(first.json<CallAnswer>().waiting)
    await at.open()
    await at.run('operations', 'retry', operationId)
    expect((await post()).json()).toMatchObject({ operationId, result: { content: [{ text: 'posted to eve' }] } })
    expect(await at.posted()).toEqual(['eve'])
  })
})

describe('an unknown operation', () => {
  it('is refused by show, retry, cancel and drop', async () => {
    const at = await office()
    await at.up()
    for (const command of ['show', 'retry', 'cancel', 'drop']) {
      const missing = await at.run('operations', command, 'op_none')
      expect([missing.code, missing.stdout]).toEqual([4, ''])
      expect(missing.stderr).toContain('There is no operation "op_none".')
      expect((await at.run('operations', command, 'op_none', '--json')).json()).toMatchObject({
        error: { code: 'NAME_UNKNOWN' },
      })
    }
  })
})
