import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { type SharedStorage, sharedStorages } from '../../testing/shared-storage.ts'
import { entry, SIGNAL, stage } from './testing/upstreams-fixture.ts'

describe('one that runs on one node at a time', () => {
  const on = (node: SharedStorage | undefined) => {
    if (!node) throw new Error('There is no such node.')
    const { store, news, owner } = node
    return { storage: node, at: { store, news, self: { id: owner, host: `host-${owner}`, folder: owner } } }
  }
  const single = entry({ single: true })
  const lookFrom = async ({ units }: Awaited<ReturnType<typeof stage>>) => {
    const capabilities = (await units()).flatMap(({ definitions }) => definitions.capabilities ?? [])
    const [probe] = capabilities.flatMap(({ dependencies = [] }) => dependencies.map(one => one.probe))
    return probe && 'run' in probe ? probe.run({ signal: SIGNAL, isRequested: true } as never) : undefined
  }

  it('runs where its lease is held, says elsewhere who has it, and moves on when its node stops', async () => {
    const leaseClock = createFakeClock()
    const [a, b] = await sharedStorages(['a', 'b'], { clock: leaseClock })
    const first = await stage({ ...on(a), leaseClock })
    await first.configure({ ill: single })
    await first.isUp()
    const second = await stage({ ...on(b), leaseClock })
    await second.configure({ ill: single })
    await expect.poll(() => second.status()?.state).toBe('elsewhere')
    expect(second.status()).toMatchObject({ pids: [], reason: expect.stringContaining('"host-a" (a)') })
    expect(await lookFrom(second)).toMatchObject({ up: false, reason: expect.stringContaining('"host-a" (a)') })
    await first.upstreams.stop()
    await second.isUp()
    expect(await lookFrom(second)).toMatchObject({ up: true })
  })

  it('moves on within the time of the lease when its node is gone', async () => {
    const [leaseClock, killed] = [createFakeClock(), createFakeClock()]
    const [a, b] = await sharedStorages(['a', 'b'], { clock: leaseClock })
    const first = await stage({ ...on(a), leaseClock: killed })
    await first.configure({ ill: single })
    await first.isUp()
    const second = await stage({ ...on(b), leaseClock })
    await second.configure({ ill: single })
    await expect.poll(() => second.status()?.state).toBe('elsewhere')
    a?.cutOff()
    await leaseClock.advance(30_000)
    await second.isUp()
    // One that only cannot say any more that it runs has ended it before.
    await killed.advance(20_000)
    await expect.poll(() => first.status()?.pids).toEqual([])
  })

  /** Calls a tool of it that may change something, and never answers. */
  const callFrom = async ({ units }: Awaited<ReturnType<typeof stage>>) => {
    const tools = (await units()).flatMap(({ definitions }) => definitions.capabilities?.[0]?.tools ?? [])
    const tool = tools.find(({ name }) => name.endsWith('append'))
    const context = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }
    return tool?.handler({} as never, context as never)
  }
  const silent = entry({ single: true }, '--hang-on=tools/call')

  it('ends what is under way when its lease is lost, and nothing goes on twice', async () => {
    const [leaseClock, stranded] = [createFakeClock(), createFakeClock()]
    const [a, b] = await sharedStorages(['a', 'b'], { clock: leaseClock })
    const first = await stage({ ...on(a), leaseClock: stranded })
    await first.configure({ ill: silent })
    await first.isUp()
    const ended = callFrom(first).catch((error: unknown) => error)
    const second = await stage({ ...on(b), leaseClock })
    await second.configure({ ill: silent })
    // The other one has it: the first finds that out with its next look.
    await leaseClock.advance(30_000)
    await second.isUp()
    await stranded.advance(10_000)
    expect(await ended).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(first.status()).toMatchObject({ state: 'elsewhere', pids: [] })
    expect(second.status()).toMatchObject({ state: 'up', restarts: 0 })
  })

  it('starts anew with another configuration only when what it was has ended', async () => {
    const leaseClock = createFakeClock()
    const [a] = await sharedStorages(['a'], { clock: leaseClock })
    const node = await stage({ ...on(a), leaseClock })
    await node.configure({ ill: entry({ single: true }, '--linger=1000') })
    await node.isUp()
    const [before = 0] = node.status()?.pids ?? []
    await node.configure({ ill: entry({ single: true }) })
    await expect.poll(() => node.status()?.state).toBe('up')
    expect(() => process.kill(before, 0)).toThrow('ESRCH')
  })

  it('stays where it is when somebody asks briefly', async () => {
    const leaseClock = createFakeClock()
    const [a, b] = await sharedStorages(['a', 'b'], { clock: leaseClock })
    const first = await stage({ ...on(a), leaseClock })
    await first.configure({ ill: single })
    await first.isUp()
    const brief = await stage({ ...on(b), leaseClock, which: 'unseen' })
    await brief.configure({ ill: single })
    expect(await lookFrom(brief)).toMatchObject({ up: false })
    expect(brief.status()?.state).toBe('elsewhere')
    await brief.upstreams.stop()
    await leaseClock.advance(60_000)
    expect(first.status()?.state).toBe('up')
    expect(await a?.store.get('leases', 'upstream ill')).toMatchObject({ holder: 'a' })
  })
})
