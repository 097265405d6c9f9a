import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { AppError, DEFAULT_SETTINGS } from '../../../contracts/index.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { type AnyTool, type CallContext, defineEffect } from '../../catalogue/index.ts'
import { update } from '../../store/index.ts'
import { recoverAfterCrash } from '../index.ts'

/** A world of named things, and a tool that is to make a note and a line in it. */
async function consentService(
  tool: Partial<AnyTool> = {},
  storage: FaultyStorage = faultyStorage(),
  world = new Set<string>(),
) {
  const state = { isBlind: false }
  const runs: (readonly string[])[] = []
  const thing = defineEffect({
    kind: 'thing',
    fields: ['id'],
    look({ id }) {
      if (state.isBlind) throw new Error('It is dark.')
      return Promise.resolve(world.has(String(id)))
    },
  })
  const make = simpleTool('make', {
    mutates: true,
    idempotent: true,
    retry: 'verifyFirst',
    input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    effects: [
      { name: 'note', kind: 'thing', id: 'note {input.title}' },
      { name: 'line', kind: 'thing', id: 'line {input.title}' },
    ],
    ...tool,
    handler: ((input: never, context: CallContext) => {
      runs.push(context.missingEffects.map(({ name }) => name))
      return (tool.handler ?? (() => (world.add('note a'), world.add('line a'), 'made')))(input, context as never)
    }) as never,
  })
  const capability = simpleCapability('main', [make], { effectKinds: [thing] })
  const hub = await createHub({
    units: { main: { capabilities: [capability] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  hub.work()
  const call = () => hub.callAs('ada', 'make', { title: 'a' })
  const row = async () => (await storage.store.find('operations', {}))[0]
  return { hub, storage, world, state, runs, call, row }
}

const cutOff = () => new AppError('OUTCOME_UNKNOWN', 'The line broke.')

describe('a call that leaves something behind', () => {
  it('is done when all of it is there that was not before', async () => {
    const one = await consentService()
    expect((await one.call()).result.content).toEqual([{ type: 'text', text: 'made' }])
    expect(await one.row()).toMatchObject({
      state: 'succeeded',
      effects: [
        { name: 'note', kind: 'thing', before: 'absent' },
        { name: 'line', kind: 'thing', before: 'absent' },
      ],
      sealedEffects: null,
    })
  })

  it('is not done because the tool says so', async () => {
    const one = await consentService({ retry: 'manual', handler: () => 'made' })
    expect(await failureOf(one.call())).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      details: { verdict: 'absent', effects: [{ name: 'note', state: 'absent' }, { name: 'line' }] },
    })
    expect(await one.row()).toMatchObject({ state: 'unknown' })
  })

  it('is not done because of what was there already', async () => {
    const one = await consentService(
      { retry: 'manual', handler: () => 'made' },
      faultyStorage(),
      new Set(['note a', 'line a']),
    )
    expect(await failureOf(one.call())).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { verdict: 'absent' } })
  })

  it('is done although it was cut off, when all of it is there', async () => {
    const one = await consentService({
      handler: () => {
        one.world.add('note a').add('line a')
        throw cutOff()
      },
    })
    expect((await one.call()).result.content).toMatchObject([{ text: expect.stringContaining('is done') }])
    expect(await one.row()).toMatchObject({ state: 'succeeded' })
    expect(one.runs).toHaveLength(1)
  })

  it('does only what is missing the second time', async () => {
    let runs = 0
    const one = await consentService({
      handler: () => {
        one.world.add(++runs === 1 ? 'note a' : 'line a')
        if (runs === 1) throw cutOff()
        return 'made'
      },
    })
    expect((await one.call()).waiting).toMatchObject({ for: 'retry' })
    await one.hub.clock.advance(10_000)
    expect(one.runs).toEqual([[], ['line']])
    expect(await one.row()).toMatchObject({ state: 'succeeded', attempts: 2 })
  })

  it('is looked at before it is run again, and not run when it was done meanwhile', async () => {
    const one = await consentService({
      handler: () => {
        throw cutOff()
      },
    })
    await one.call()
    one.world.add('note a').add('line a')
    await one.hub.clock.advance(10_000)
    expect(one.runs).toHaveLength(1)
    expect(await one.row()).toMatchObject({ state: 'succeeded' })
  })

  it('is not run again while its effects cannot be checked, and is checked again later', async () => {
    const one = await consentService({
      handler: () => {
        throw cutOff()
      },
    })
    await one.call()
    one.state.isBlind = true
    await one.hub.clock.advance(10_000)
    expect(one.runs).toHaveLength(1)
    expect(await one.row()).toMatchObject({ state: 'queued', error: { code: 'OUTCOME_UNKNOWN' } })
    one.state.isBlind = false
    one.world.add('note a').add('line a')
    await one.hub.clock.advance(60_000)
    expect(one.runs).toHaveLength(1)
    expect(await one.row()).toMatchObject({ state: 'succeeded' })
  })

  /** One that died in the run of the tool, and the one that comes after it. */
  async function died(storage: FaultyStorage, world: Set<string>, { attempts = 1 } = {}) {
    const first = await consentService(
      { handler: () => (world.add('note a'), new Promise(() => {})) as never },
      storage,
      world,
    )
    void first.call().catch(() => {})
    for (let i = 0; i < 20; i++) await first.hub.clock.breathe()
    expect(first.runs).toHaveLength(1)
    const id = (await first.row())?.id ?? ''
    await storage.store.commit([update('operations', { where: { id }, set: { attempts } })])
    const { clock } = first.hub
    const left = { store: storage.store, clock, ids: createIds(), random: () => 0.5, settings: DEFAULT_SETTINGS }
    await recoverAfterCrash(left)
    return consentService({ handler: () => (world.add('line a'), 'made') }, storage, world)
  }

  it('is looked at by the process that comes after one that died in it', async () => {
    const second = await died(faultyStorage(), new Set())
    await second.hub.clock.advance(1_000)
    expect(second.runs).toEqual([['line']])
    expect(await second.row()).toMatchObject({ state: 'succeeded', attempts: 2 })
  })

  it('is known to be done where all of it is there, also when that was its last run', async () => {
    const world = new Set<string>()
    const second = await died(faultyStorage(), world, { attempts: 6 })
    world.add('line a')
    await second.hub.clock.advance(1_000)
    expect(second.runs).toEqual([])
    expect(await second.row()).toMatchObject({ state: 'succeeded', outcome: 'succeeded' })
  })

  it('is not run once more than it may be, whatever is missing', async () => {
    const second = await died(faultyStorage(), new Set(), { attempts: 6 })
    await second.hub.clock.advance(1_000)
    expect(second.runs).toEqual([])
    expect(await second.row()).toMatchObject({ state: 'exhausted', outcome: 'unknown' })
  })

  it('is given up when it never comes to be there', async () => {
    const one = await consentService({ handler: () => 'made' })
    await one.call()
    await one.hub.clock.advance(3_600_000)
    expect(one.runs).toHaveLength(6)
    expect(await one.row()).toMatchObject({ state: 'exhausted', outcome: 'unknown' })
  })
})
