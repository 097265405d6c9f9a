import { afterEach, describe, expect, it } from 'vitest'
import { createSealer } from '../../../adapters/sealing/index.ts'
import { openSqliteStore, type SqliteStore } from '../../../adapters/storage-sqlite/index.ts'
import { silentLog } from '../../../adapters/system/index.ts'
import { AppError, type CallAnswer, type ResultPage } from '../../../contracts/index.ts'
import { createFakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { tempProject } from '../../../testing/temp-project.ts'
import { type AnyTool, toolResult } from '../../catalogue/index.ts'
import { createPruner } from '../index.ts'

/** NUL, characters of two to four bytes and a mark of the byte order: what a store or a cut could break. */
const LONG = `\uFEFF\0${'aä€🂡\uFEFF'.repeat(400)}`

const open: SqliteStore[] = []
afterEach(() => Promise.all(open.splice(0).map(store => store.close())))

/** A process over the store of a folder, with a tool whose result is too long for one page. */
async function start(dir: string, tool: Partial<AnyTool> = {}, clock = createFakeClock()) {
  const store = await openSqliteStore({ dir, log: silentLog })
  open.push(store)
  const storage = { store, sealer: createSealer({ key: new Uint8Array(32) }) }
  const write = simpleTool('write', { mutates: true, maxResultBytes: 1024, handler: () => LONG, ...tool })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [write])] } },
    agents: { ada: { capabilities: { main: {} } }, bob: { capabilities: { main: {} } } },
    settings: { keptResultBytes: 16_384 },
    storage: { open: async () => storage, current: () => storage },
    clock,
  })
  hub.work()
  const page = (resultId: string, offset: number, agent = 'ada') =>
    hub.results.page(hub.agents.session(agent).caller, resultId, offset)
  return {
    hub,
    store,
    page,
    call: (options = {}) => hub.callAs('ada', 'write', {}, options),
    async readAll(resultId: string) {
      const pages: ResultPage[] = []
      for (let offset: number | undefined = 0; offset !== undefined; offset = pages.at(-1)?.nextOffset)
        pages.push(await page(resultId, offset))
      return pages.map(({ text }) => text).join('')
    },
    async stop() {
      await hub.stop()
      await store.close()
    },
  }
}

/** Lets the pruner drop results until all together have no more bytes than this. */
async function limitResults(store: SqliteStore, storedResultsBytes: number) {
  const settings = { storedResultsBytes, auditDays: 90 }
  const pruner = createPruner({ store, clock: createFakeClock(), log: silentLog, settings })
  pruner.start()
  await expect.poll(() => store.count('results', { wholeBytes: { not: null } })).toBe(0)
  await pruner.stop()
}

async function folder(): Promise<string> {
  return (await tempProject({})).dir
}

describe('the result of an operation that is too large to hand over at once', () => {
  it('can be read only by its caller, page by page, after a restart', async () => {
    const dir = await folder()
    const first = await start(dir)
    const { operationId, kept } = await first.call()
    expect(kept).toMatchObject({ resultId: operationId, keptBytes: kept?.totalBytes })
    await first.stop()
    const second = await start(dir)
    expect(await second.readAll(operationId)).toBe(LONG)
    expect(await failureOf(second.page(operationId, 0, 'bob'))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
  })

  it('can be read on from anywhere, as it could before the restart', async () => {
    const dir = await folder()
    const first = await start(dir)
    const { operationId, kept } = await first.call()
    const end = kept?.keptBytes ?? 0
    const places = [1, 1023, 1024, 1025, 2_000, end - 1, end]
    const readOn = async ({ page }: typeof first, offset: number) => {
      const pages = [await page(operationId, offset)]
      for (let next = pages[0]?.nextOffset; next !== undefined; next = pages.at(-1)?.nextOffset)
        pages.push(await page(operationId, next))
      return pages.map(({ text }) => text).join('')
    }
    const before = await Promise.all(places.map(place => readOn(first, place)))
    await first.stop()
    const second = await start(dir)
    expect(await Promise.all(places.map(place => readOn(second, place)))).toEqual(before)
    expect(await failureOf(second.page(operationId, end + 1))).toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('can be read by a caller that got a handle', async () => {
    const dir = await folder()
    let runs = 0
    const handler = () => {
      if (++runs === 1) throw new AppError('DEPENDENCY_UNAVAILABLE', 'Not now.')
      return LONG
    }
    const first = await start(dir, { idempotent: true, retry: 'replay', handler })
    const { waiting, operationId } = await first.call({ idempotencyKey: 'k' })
    expect(waiting).toMatchObject({ for: 'retry' })
    const done = new Promise(resolve =>
      first.hub.emitter.on('operation.changed', ({ to }) => to === 'succeeded' && resolve(to)),
    )
    // The store takes real time, so that the queue may not have set its timer yet.
    await whileAdvancing(first.hub.clock, done)
    await first.stop()
    const second = await start(dir, { idempotent: true, retry: 'replay', handler })
    const repeated: CallAnswer = await second.call({ idempotencyKey: 'k' })
    expect(repeated).toMatchObject({ operationId, kept: { resultId: operationId } })
    expect(await second.readAll(operationId)).toBe(LONG)
  })

  it('is kept as long as the operation, not only as long as memory keeps results', async () => {
    const one = await start(await folder())
    const { operationId } = await one.call()
    await one.hub.clock.advance(3_600_000)
    expect(await one.readAll(operationId)).toBe(LONG)
  })

  it('is kept up to the limit', async () => {
    const dir = await folder()
    const first = await start(dir, { handler: () => 'x'.repeat(40_000) })
    const { operationId, kept } = await first.call()
    expect(kept).toMatchObject({ totalBytes: 40_000, keptBytes: 16_384 })
    await first.stop()
    const second = await start(dir)
    expect((await second.readAll(operationId)).length).toBe(16_384)
  })

  it('is reported as dropped to its caller only, once it was dropped to free space', async () => {
    const dir = await folder()
    const first = await start(dir)
    const { operationId } = await first.call()
    await limitResults(first.store, 1)
    await first.stop()
    const second = await start(dir)
    for (const offset of [0, 1_024])
      expect(await failureOf(second.page(operationId, offset))).toMatchObject({
        code: 'RESULT_NOT_FOUND',
        message: expect.stringContaining('was dropped to make room for newer ones'),
      })
    expect(await failureOf(second.page(operationId, 0, 'bob'))).toMatchObject({
      message: expect.stringContaining(`No result "${operationId}" is kept`),
    })
  })

  it('is counted with its images, which are dropped as pages are while the text beside them stays', async () => {
    const data = 'A'.repeat(300)
    const picture = { type: 'image' as const, data, mimeType: 'image/png' }
    const handler = () =>
      toolResult({ content: [{ type: 'text', text: 'A cat.' }, picture], structuredContent: { shown: data } })
    const one = await start(await folder(), { handler })
    const { operationId, result } = await one.call({ idempotencyKey: 'k' })
    await one.call()
    expect(await one.store.find('results', { columns: ['operationId', 'wholeBytes'] })).toEqual([
      { operationId, wholeBytes: JSON.stringify(result).length },
    ])
    expect(await failureOf(one.page(operationId, 0))).toMatchObject({
      message: expect.stringContaining(`No result "${operationId}" is kept`),
    })
    await limitResults(one.store, 100)
    const left = { type: 'text', text: expect.stringContaining('image/png of 300 bytes, as base64, was dropped') }
    expect((await one.call({ idempotencyKey: 'k' })).result).toMatchObject({
      content: [{ text: 'A cat.' }, left, { type: 'text', text: expect.stringContaining('"shown":"[image/png') }],
    })
    expect(JSON.stringify(await one.store.get('operations', operationId))).not.toContain(data)
  })

  it('of a call without a record is in memory alone', async () => {
    const dir = await folder()
    const first = await start(dir, { mutates: false })
    const { operationId } = await first.call()
    expect(await first.readAll(operationId)).toBe(LONG)
    expect(await first.store.count('results')).toBe(0)
    await first.stop()
    const second = await start(dir)
    expect(await failureOf(second.page(operationId, 0))).toMatchObject({ code: 'RESULT_NOT_FOUND' })
  })
})
