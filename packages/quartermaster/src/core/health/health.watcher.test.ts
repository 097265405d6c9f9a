import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { DOWN, fakeService, simpleCapability, UP } from '../../testing/hub.ts'
import { serviceHub } from '../../testing/service-hub.ts'

describe('the watcher', () => {
  it('gives what is recovering its time although its probe throws', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    mail.verdict = 'throws'
    hub.health.reportFailure('mail', 'connection reset')
    await hub.clock.advance(5_000)
    expect(hub.health.dependency('mail').state).toBe('recovering')
    await hub.clock.advance(6_000)
    expect(hub.health.dependency('mail').state).toBe('down')
  })

  it('looks soon again at what has just gone down', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    hub.health.watch()
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'connection reset')
    await hub.clock.advance(10_000)
    expect(hub.health.dependency('mail').state).toBe('down')
    mail.verdict = UP
    await hub.clock.advance(2_000)
    expect(hub.health.dependency('mail').state).toBe('up')
  })

  it('moves a dependency that fails to recovering, keeps its tools listed, and brings it back', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    hub.health.watch()
    mail.verdict = DOWN
    await hub.clock.advance(15_000)
    expect(hub.health.dependency('mail').state).toBe('recovering')
    expect(hub.toolNamesFor('worker')).toEqual(['use_mail'])
    mail.verdict = UP
    await hub.clock.advance(1_000)
    expect(hub.health.dependency('mail').state).toBe('up')
  })

  it('takes it down when it does not come back in time', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    hub.health.watch()
    mail.verdict = DOWN
    await hub.clock.advance(15_000 + 11_000)
    expect(hub.health.dependency('mail').state).toBe('down')
    expect(hub.toolNamesFor('worker')).toEqual([])
  })

  it('finds by itself what was fixed', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await serviceHub([mail])
    hub.health.watch()
    await hub.clock.advance(3_000)
    mail.verdict = UP
    await hub.clock.advance(15_000)
    expect(hub.toolNamesFor('worker')).toEqual(['use_mail'])
  })

  it('looks at the children when their parent is back', async () => {
    const parent = fakeService('network', DOWN)
    const child = fakeService('mail', UP, { dependsOn: ['network'] })
    const hub = await serviceHub([parent, child])
    hub.health.watch()
    parent.verdict = UP
    await hub.clock.advance(2_000)
    expect(hub.toolNamesFor('worker')).toEqual(['use_network', 'use_mail'])
  })

  it('disables the tools of a child as soon as its parent is down', async () => {
    const parent = fakeService('network', UP)
    const child = fakeService('mail', UP, { dependsOn: ['network'] })
    const hub = await serviceHub([parent, child])
    hub.health.watch()
    parent.verdict = DOWN
    await hub.clock.advance(30_000)
    expect(hub.toolNamesFor('worker')).toEqual([])
    expect(hub.health.dependency('mail').reason).toBe('It needs "network": connection refused')
  })

  it('wants several good probes in a row, over some seconds, from one that flapped', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail], {
      settings: { watchIntervalSeconds: 1, recoveringSeconds: 0, flapWindowSeconds: 60 },
    })
    hub.health.watch()
    for (let fall = 0; fall < 2; fall++) {
      mail.verdict = DOWN
      await hub.clock.advance(3_000)
      mail.verdict = UP
      if (fall === 0) await hub.clock.advance(3_000)
    }
    expect(hub.health.dependency('mail').state).toBe('down')
    await hub.health.recheck('mail', { force: true })
    expect(hub.health.dependency('mail')).toMatchObject({
      state: 'down',
      reason: expect.stringContaining('1 of 3 good probes, over 5 s at least'),
      isProving: true,
    })
    await hub.clock.advance(4_500)
    expect(hub.health.dependency('mail').state).toBe('down')
    mail.verdict = DOWN
    await hub.health.recheck('mail', { force: true })
    mail.verdict = UP
    await hub.health.recheck('mail', { force: true })
    await hub.clock.advance(4_500)
    expect(hub.health.dependency('mail').state).toBe('down')
    await hub.clock.advance(1_000)
    expect(hub.health.dependency('mail').state).toBe('up')
  })

  it('wants them also from one that falls seldom, but each time right after it has come', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await serviceHub([mail], { settings: { watchIntervalSeconds: 600, recoveringSeconds: 0 } })
    const states = []
    for (let times = 0; times < 4; times++) {
      mail.verdict = UP
      await hub.health.recheck('mail', { force: true })
      states.push(hub.health.dependency('mail').state)
      await hub.clock.advance(1_000)
      mail.verdict = DOWN
      hub.health.reportFailure('mail', 'connection reset')
      await hub.clock.advance(120_000)
    }
    expect(states).toEqual(['up', 'up', 'down', 'down'])
    mail.verdict = UP
    await hub.health.recheck('mail', { force: true })
    expect(hub.health.dependency('mail').reason).toContain('right after it had come the last times: 1 of 3 good probes')
    await hub.clock.advance(6_000)
    expect(hub.health.dependency('mail').state).toBe('up')
  })

  it('lets one that flapped come back at once while its tools are still listed', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail], { settings: { watchIntervalSeconds: 1, flapWindowSeconds: 60 } })
    hub.health.watch()
    for (let fall = 0; fall < 4; fall++) {
      mail.verdict = DOWN
      await hub.clock.advance(1_500)
      expect(hub.health.dependency('mail').state).toBe('recovering')
      mail.verdict = UP
      await hub.health.recheck('mail', { force: true })
      await hub.clock.advance(1_000)
      expect(hub.health.dependency('mail').state).toBe('up')
    }
  })

  it('goes on looking when another generation came while it looked', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    hub.health.watch()
    const looked = deferred()
    mail.wait = looked.promise
    while (mail.probes === 1) await hub.clock.advance(100)
    hub.write('main.ts', { capabilities: [simpleCapability('main', [])], dependencies: [mail.dependency] })
    await hub.catalogue.reload()
    looked.resolve()
    await hub.clock.advance(60_000)
    expect(mail.probes).toBeGreaterThan(3)
  })

  it('stops looking when it is stopped', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    hub.health.watch()
    await hub.stop()
    await hub.clock.advance(60_000)
    expect(mail.probes).toBe(1)
  })
})
