import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { asked, deletionFixture, NO, ONCE, OWNER, settle } from '../../../testing/deletion-fixture.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import {
  DOWN,
  failureOf,
  fakeService,
  type HubOptions,
  simpleCapability,
  simpleTool,
  UP,
} from '../../../testing/hub.ts'
import { sharedStorages } from '../../../testing/shared-storage.ts'
import { workerHub } from '../../../testing/worker-hub.ts'

type Fixture = Awaited<ReturnType<typeof deletionFixture>>
type FixtureOptions = NonNullable<Parameters<typeof deletionFixture>[0]>

/** Two processes with the same tools on one store. */
async function twoFixtures(options: readonly [FixtureOptions?, FixtureOptions?] = []) {
  const clock = createFakeClock()
  const [here, there] = await sharedStorages(['here', 'there'], { clock })
  if (!here || !there) throw new Error('Two were asked for.')
  const consentServices = await Promise.all(
    [here, there].map((storage, i) => deletionFixture({ storage, owner: storage.owner, clock, ...options[i] })),
  )
  return { clock, storages: { here, there }, here: consentServices[0] as Fixture, there: consentServices[1] as Fixture }
}

describe('a call whose caller waits in another process', () => {
  it('is run there for its caller when it is allowed here', async () => {
    const { here, there } = await twoFixtures()
    const { answer, id } = await asked(there)
    await here.answer(id, ONCE, OWNER)
    expect((await answer).result.content).toEqual([{ type: 'text', text: 'deleted' }])
    expect([here.runs, there.runs]).toEqual([[], [{ path: 'a' }]])
    expect([here.told, there.told]).toEqual([[], []])
  })

  it('is answered there when it is not allowed here, or cancelled here', async () => {
    const { here, there } = await twoFixtures()
    const denied = await asked(there)
    await here.answer(denied.id, NO, OWNER)
    expect(await failureOf(denied.answer)).toMatchObject({ code: 'CONSENT_DENIED' })
    const cancelled = await asked(there)
    await here.hub.operationAdmin.cancel(cancelled.id)
    expect(await failureOf(cancelled.answer)).toMatchObject({ code: 'CANCELLED' })
    expect([here.runs, there.runs]).toEqual([[], []])
  })

  it('is run here in the end when the process of its caller does not take it', async () => {
    const { here, there, storages, clock } = await twoFixtures()
    const { id } = await asked(there)
    // As if it had been killed.
    storages.there.cutOff()
    await there.hub.stop()
    await here.answer(id, ONCE, OWNER)
    expect(here.runs).toEqual([])
    await clock.advance(5_000)
    await settle(here.hub)
    expect(here.runs).toEqual([{ path: 'a' }])
  })

  it('is run at once, and by one of them, when no caller waits any more', async () => {
    const { here, there, clock } = await twoFixtures()
    const { answer, id } = await asked(there)
    await clock.advance(20_000)
    expect((await answer).waiting).toMatchObject({ for: 'approval' })
    await here.answer(id, ONCE, OWNER)
    await settle(here.hub)
    expect([...here.runs, ...there.runs]).toEqual([{ path: 'a' }])
  })

  it('hears of the answer also while no news come through, by looking', async () => {
    const { here, there, storages, clock } = await twoFixtures()
    const { answer, id } = await asked(there)
    storages.there.cutOff()
    await here.answer(id, ONCE, OWNER)
    await clock.advance(1_000)
    expect((await answer).result.content).toEqual([{ type: 'text', text: 'deleted' }])
    expect([here.runs, there.runs]).toEqual([[], [{ path: 'a' }]])
  })

  it('hears of an answer that it missed as soon as news come through again', async () => {
    const { here, there, storages } = await twoFixtures()
    const { answer, id } = await asked(there)
    storages.there.cutOff()
    await here.answer(id, NO, OWNER)
    storages.there.fix()
    expect(await failureOf(answer)).toMatchObject({ code: 'CONSENT_DENIED' })
  })

  it('is not looked for any more once news come through again, also when a look was under way', async () => {
    const { there, storages, clock } = await twoFixtures()
    await asked(there)
    const { store } = storages.there
    const { find } = store
    const slow = deferred()
    let looks = 0
    const slowly = async (...args: Parameters<typeof find>) => {
      if (args[0] === 'approvals') looks++
      await slow.promise
      return find(...args)
    }
    storages.there.cutOff()
    Object.assign(store, { find: slowly })
    await clock.advance(1_000)
    storages.there.fix()
    slow.resolve()
    await settle(there.hub)
    const before = looks
    expect(before).toBeGreaterThan(0)
    await clock.advance(5_000)
    expect(looks).toBe(before)
  })
})

describe('what a person is asked and answers in another process', () => {
  it('is announced to followers in this process', async () => {
    const { here, there } = await twoFixtures()
    const events: unknown[] = []
    there.hub.emitter.on('approval.opened', ({ id }) => events.push(['opened', id]))
    there.hub.emitter.on('approval.answered', ({ id, state, by }) => events.push([state, id, by.name]))
    const { id } = await asked(here)
    await settle(there.hub)
    await here.answer(id, NO, OWNER)
    await settle(there.hub)
    expect(events).toEqual([
      ['opened', id],
      ['denied', id, 'the owner'],
    ])
  })
})

describe('an end in another process', () => {
  it('is announced in this process, where the clients of its agent are', async () => {
    const { here, there, clock } = await twoFixtures([{ tellEnd: () => false }])
    const { answer, id } = await asked(here)
    await clock.advance(20_000)
    await answer
    // So that the other one does not run it.
    await there.hub.setAgents({})
    await here.answer(id, ONCE, OWNER)
    await settle(there.hub)
    expect(here.runs).toHaveLength(1)
    expect(there.told).toMatchObject([{ id, state: 'succeeded' }])
  })
})

describe('what runs in another process', () => {
  it('is stopped there when it is cancelled here', async () => {
    const running = deferred()
    const handler = (_: unknown, { signal }: { signal: AbortSignal }) => {
      running.resolve()
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const clock = createFakeClock()
    const storages = await sharedStorages(['here', 'there'], { clock })
    const [here, there] = await Promise.all(
      storages.map(storage =>
        workerHub([simpleTool('dig', { mutates: true, handler } as never)], { storage, owner: storage.owner, clock }),
      ),
    )
    const call = there?.callAs('worker', 'dig')
    await running.promise
    const [id = ''] = there?.operations.running().map(({ record }) => record.id) ?? []
    expect(await here?.operationAdmin.cancel(id)).toBe('told')
    const message = expect.stringContaining('was cancelled while it ran')
    expect(await failureOf(call ?? Promise.resolve())).toMatchObject({ code: 'OUTCOME_UNKNOWN', message })
  })
})

describe('an operation that is due', () => {
  const unavailable = { mutates: true, idempotent: true, retry: 'replay' } as const

  /** A tool that fails the first time, with a service of its own in each process. */
  async function twoHubs(more: readonly [HubOptions, HubOptions]) {
    const clock = createFakeClock()
    const storages = await sharedStorages(['here', 'there'], { clock })
    const runs: string[] = []
    const services = [fakeService('post'), fakeService('post')]
    const hubs = await Promise.all(
      storages.map(async (storage, i) => {
        const handler = () => {
          runs.push(storage.owner)
          if (runs.length === 1) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The post office is closed.')
          return 'sent'
        }
        const tool = simpleTool('send', { ...unavailable, requires: ['post'], handler } as never)
        const dependencies = [services[i] ?? fakeService('post')]
        const hub = await workerHub([tool], { storage, owner: storage.owner, clock, dependencies, ...more[i] })
        await hub.health.probeNew()
        hub.work()
        return hub
      }),
    )
    return { clock, runs, services, hubs, storages }
  }

  it('is left to a process in which its tool works', async () => {
    const { clock, runs, services, hubs, storages } = await twoHubs([{}, {}])
    const [here, there] = hubs
    const first = await here?.callAs('worker', 'send').catch((error: unknown) => error)
    if (services[0]) services[0].verdict = DOWN
    here?.health.reportFailure('post', 'It hung up.')
    if (services[1]) services[1].verdict = UP
    await clock.advance(60_000)
    if (!there) throw new Error('Two were asked for.')
    await settle(there)
    expect(runs).toEqual(['here', 'there'])
    const [row] = (await storages[0]?.store.find('operations', {})) ?? []
    expect([first, row]).toMatchObject([{ waiting: { for: 'retry' } }, { state: 'succeeded', attempts: 2 }])
  })

  it('waits for its tool when none of them can do it, and is done where that works first', async () => {
    const { clock, runs, services, hubs, storages } = await twoHubs([{}, {}])
    await hubs[0]?.callAs('worker', 'send')
    for (const [i, hub] of hubs.entries()) {
      const service = services[i]
      if (service) service.verdict = DOWN
      hub.health.reportFailure('post', 'It hung up.')
    }
    const row = async () => (await storages[0]?.store.find('operations', {}))?.[0]
    await clock.advance(200_000)
    expect([runs, await row()]).toMatchObject([['here'], { state: 'queued', dueAt: null }])
    if (services[1]) services[1].verdict = UP
    await hubs[1]?.health.recheck('post', { force: true })
    await clock.advance(60_000)
    expect([runs, await row()]).toMatchObject([['here', 'there'], { state: 'succeeded' }])
  })

  it('is not ended by a process that does not have its tool', async () => {
    const { clock, runs, hubs } = await twoHubs([{}, {}])
    const [here, there] = hubs
    here?.write('main.ts', { capabilities: [simpleCapability('main', [])] })
    const first = there?.callAs('worker', 'send').catch((error: unknown) => error)
    await here?.catalogue.reload()
    expect(await first).toMatchObject({ waiting: { for: 'retry' } })
    await clock.advance(60_000)
    expect(runs).toEqual(['there', 'there'])
  })
})
