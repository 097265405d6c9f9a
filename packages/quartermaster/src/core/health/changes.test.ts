import { describe, expect, it } from 'vitest'
import { createHub, DOWN, failureOf, fakeService, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import type { ProbeVerdict } from '../catalogue/index.ts'

const STARTING: ProbeVerdict = { up: false, recovering: true, reason: 'It is being started.' }
/** Nothing went wrong with it. */
const PENDING = { pending: true }
const UNTOLD: ProbeVerdict = { up: false, pending: true, reason: 'It is being downloaded.' }

/** A service that tells of its changes, with a count of those who listen. */
function tellingService(verdict: ProbeVerdict = UP) {
  const listeners = new Set<() => void>()
  const onChange = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const service = fakeService('github', verdict, { onChange })
  const tell = () => {
    for (const listener of listeners) listener()
  }
  return { service, listeners, tell }
}

async function hubWith(verdict: ProbeVerdict = UP, options: Parameters<typeof createHub>[0] = {}) {
  const { service, listeners, tell } = tellingService(verdict)
  const unit = {
    capabilities: [
      simpleCapability('github', [simpleTool('issues')], {
        requires: ['github'],
        dependencies: [service.dependency],
      }),
    ],
  }
  const hub = await createHub({
    units: { github: unit },
    agents: { coder: { capabilities: { github: {} } } },
    ...options,
  })
  await hub.health.probeNew()
  const state = () => hub.health.dependency('github').state
  return { hub, service, listeners, tell, state, unit }
}

describe('a dependency that tells of news', () => {
  it('is neither there nor down while it comes for the first time, however long that takes', async () => {
    const { hub, service, tell, state } = await hubWith(UNTOLD)
    for (let minute = 0; minute < 4; minute++) {
      await hub.clock.advance(60_000)
      tell()
    }
    await hub.clock.advance(0)
    expect(state()).toBe('unknown')
    service.verdict = DOWN
    tell()
    await hub.clock.advance(0)
    expect(state()).toBe('down')
    service.verdict = UNTOLD
    tell()
    await hub.clock.advance(0)
    expect(state()).toBe('down')
  })

  it('is looked at as soon as it tells', async () => {
    const { hub, service, tell, state } = await hubWith()
    service.verdict = DOWN
    tell()
    await hub.clock.advance(0)
    expect(state()).toBe('recovering')
    service.verdict = UP
    tell()
    await hub.clock.advance(0)
    expect(state()).toBe('up')
  })

  it('is looked at once at a time, and once more after a burst', async () => {
    const { hub, service, tell } = await hubWith()
    const before = service.probes
    let release = () => {}
    service.wait = new Promise(resolve => {
      release = resolve
    })
    for (let times = 0; times < 100; times++) tell()
    await hub.clock.advance(0)
    expect(service.probes).toBe(before + 1)
    release()
    await hub.clock.advance(50)
    expect(service.probes).toBe(before + 2)
  })

  it('is looked at anew when a look was under way that may have begun before the news', async () => {
    const { hub, service, tell, state } = await hubWith()
    let release = () => {}
    service.wait = new Promise(resolve => {
      release = resolve
    })
    service.verdict = DOWN
    hub.health.reportFailure('github', 'gone')
    const looking = hub.health.recheck('dependency:github', { force: true })
    await hub.clock.advance(100)
    tell()
    service.verdict = UP
    release()
    await looking
    await hub.clock.advance(0)
    expect(state()).toBe('up')
  })

  it('does not spin when looking at it makes news', async () => {
    const { hub, service, tell } = await hubWith()
    const before = service.probes
    Object.defineProperty(service, 'wait', { get: () => void tell() })
    tell()
    await hub.clock.advance(100)
    expect(service.probes - before).toBeLessThanOrEqual(6)
  })

  it('is listened to while it is defined', async () => {
    const { hub, listeners, unit } = await hubWith()
    expect(listeners.size).toBe(1)
    hub.write('github', unit)
    await hub.catalogue.reload()
    expect(listeners.size).toBe(1)
    hub.remove('github')
    await hub.catalogue.reload()
    expect(listeners.size).toBe(0)
  })

  it('is left alone by a hub that has stopped', async () => {
    const { hub, listeners } = await hubWith()
    await hub.stop()
    expect(listeners.size).toBe(0)
  })

  it('is told of when it is switched off and on, also where somebody looked at it before the change was taken in', async () => {
    const dependencyOptions: Record<string, { enabled?: boolean }> = {}
    const options = { github: dependencyOptions }
    const { hub, listeners, tell, state, unit } = await hubWith(UP, { dependencyOptions: options })
    const told: string[] = []
    hub.emitter.on('dependency.changed', ({ to }) => told.push(to))
    for (const enabled of [false, true]) {
      Object.assign(dependencyOptions, { enabled })
      tell()
      await hub.clock.advance(0)
      hub.write('github', unit)
      await hub.catalogue.reload()
      await hub.health.probeNew()
      expect(listeners.size).toBe(enabled ? 1 : 0)
    }
    expect(told).toEqual(['optedOut', 'up'])
    expect(state()).toBe('up')
  })

  it('is not listened to when it is switched off', async () => {
    const { listeners, service } = await hubWith(UP, { dependencyOptions: { github: { enabled: false } } })
    expect(listeners.size).toBe(0)
    expect(service.probes).toBe(0)
  })
})

describe('a dependency that is being started', () => {
  it('is recovering from the first look on, so that calls wait for it', async () => {
    const { hub, service, tell, state } = await hubWith(STARTING)
    expect(state()).toBe('recovering')
    expect(hub.toolNamesFor('coder')).toEqual(['issues'])
    const call = hub.callAs('coder', 'issues')
    service.verdict = UP
    await hub.clock.advance(0)
    tell()
    await hub.clock.advance(0)
    expect((await call).result.content).toEqual([{ type: 'text', text: 'issues' }])
  })

  it('is down when its time for recovering is over', async () => {
    const { hub, state } = await hubWith(STARTING, { settings: { recoveringSeconds: 5 } })
    const call = failureOf(hub.callAs('coder', 'issues'))
    await hub.clock.advance(5_001)
    expect(state()).toBe('down')
    expect(await call).toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('It is being started.'),
    })
  })

  it('stays down when it was down, however often it is tried again', async () => {
    const { hub, service, tell, state } = await hubWith(DOWN)
    expect(state()).toBe('down')
    service.verdict = STARTING
    tell()
    await hub.clock.advance(0)
    expect(state()).toBe('down')
    expect(hub.health.dependency('github').reason).toBe('It is being started.')
    service.verdict = UP
    tell()
    await hub.clock.advance(0)
    expect(state()).toBe('up')
  })

  it('is as it was while nothing went wrong with it, however long and often it is started', async () => {
    const { hub, service, tell, state } = await hubWith()
    const told: string[] = []
    hub.emitter.on('dependency.changed', ({ to }) => told.push(to))
    for (const verdict of [{ ...STARTING, ...PENDING }, UP, { ...STARTING, ...PENDING }, UP]) {
      service.verdict = verdict
      tell()
      await hub.clock.advance(20_000)
      expect(state()).toBe('up')
    }
    // Nor was any of it a fall: the first one is a single one, and needs no proof that it is over.
    for (const [verdict, waitMs] of [
      [DOWN, 10_001],
      [UP, 0],
    ] as const) {
      service.verdict = verdict
      tell()
      await hub.clock.advance(waitMs)
    }
    expect(told).toEqual(['recovering', 'down', 'up'])
  })

  it('is recovering at first sight also where nothing went wrong with it', async () => {
    const { state } = await hubWith({ ...STARTING, ...PENDING })
    expect(state()).toBe('recovering')
  })

  it('is waited for no longer than it is defined', async () => {
    const { hub } = await hubWith(STARTING)
    const call = failureOf(hub.callAs('coder', 'issues'))
    await hub.clock.advance(0)
    hub.remove('github')
    await hub.catalogue.reload()
    expect(await call).toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('It is no longer defined.'),
    })
  })

  it('is down at once where recovering takes no time', async () => {
    const { state } = await hubWith(STARTING, { settings: { recoveringSeconds: 0 } })
    expect(state()).toBe('down')
  })
})
