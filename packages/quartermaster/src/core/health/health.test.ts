import { describe, expect, it } from 'vitest'
import { createHub, DOWN, failureOf, fakeService, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import { serviceHub } from '../../testing/service-hub.ts'
import type { ProbeContext } from '../catalogue/index.ts'

describe('the first look', () => {
  it('lists tools whose dependencies answer and keeps the others with their reasons', async () => {
    const hub = await serviceHub([fakeService('weather', UP), fakeService('mail', DOWN)])
    expect(hub.toolNamesFor('worker')).toEqual(['use_weather'])
    const [missing] = hub.health.missing(hub.catalogue.tool('use_mail'))
    expect(missing).toMatchObject({ dependency: 'mail', state: 'down', reason: 'connection refused' })
  })

  it('leaves out what nobody has set up, until somebody has', async () => {
    let isUsed = false
    let tell = () => {}
    const onChange = (listener: () => void) => {
      tell = listener
      return () => {}
    }
    const service = fakeService('wiki', UP, { isUsed: () => isUsed, onChange })
    const hub = await createHub({ units: { 'a.ts': { dependencies: [service.dependency] } } })
    await hub.health.probeNew()
    await hub.health.recheck('wiki', { force: true })
    expect([service.probes, hub.health.dependencies()]).toEqual([0, []])
    isUsed = true
    tell()
    await hub.clock.advance(1)
    expect(hub.health.dependencies()).toMatchObject([{ name: 'wiki', state: 'up' }])
  })

  it('ends a hanging probe at its deadline without holding the others up', async () => {
    const hanging = fakeService('hanging', 'hangs')
    const quick = fakeService('quick', UP)
    const hub = await createHub({ units: { 'a.ts': { dependencies: [hanging.dependency, quick.dependency] } } })
    const probing = hub.health.probeNew()
    await hub.clock.advance(1)
    expect(hub.health.dependency('quick').state).toBe('up')
    expect(hub.health.dependency('hanging').state).toBe('unknown')
    await hub.clock.advance(2_000)
    await probing
    expect(hub.health.dependency('hanging')).toMatchObject({
      state: 'unknown',
      reason: 'It did not answer within 2000 ms.',
      durationMs: 2000,
    })
  })

  it('aborts the signal of a probe that is out of time', async () => {
    let aborted = false
    const dependency = {
      name: 'slow',
      probe: ({ signal }: { signal: AbortSignal }) =>
        new Promise<boolean>(() => signal.addEventListener('abort', () => (aborted = true))),
    }
    const hub = await createHub({ units: { 'a.ts': { dependencies: [dependency] } } })
    const probing = hub.health.probeNew()
    await hub.clock.advance(2_000)
    await probing
    expect(aborted).toBe(true)
  })

  it('does not probe a child whose parent is down, and says so', async () => {
    const parent = fakeService('network', DOWN)
    const child = fakeService('mail', UP, { dependsOn: ['network'] })
    const hub = await serviceHub([parent, child])
    expect(child.probes).toBe(0)
    expect(hub.health.dependency('mail')).toMatchObject({
      state: 'down',
      reason: 'It needs "network": connection refused',
    })
  })

  it('never probes what the owner switched off, not even when forced', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail], { dependencyOptions: { mail: { enabled: false } } })
    const answer = await hub.health.recheck('use_mail', { force: true })
    expect(mail.probes).toBe(0)
    expect(answer).toMatchObject({ active: false, probed: [], missing: [{ dependency: 'mail', state: 'optedOut' }] })
    expect(answer.nextRecheckAt).toBeUndefined()
  })
})

describe('silence', () => {
  it('leaves the last verdict standing twice and counts as down the third time', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    hub.health.watch()
    mail.verdict = 'throws'
    await hub.clock.advance(31_000)
    expect(mail.probes).toBe(3)
    expect(hub.health.dependency('mail').state).toBe('up')
    await hub.clock.advance(15_000)
    expect(hub.health.dependency('mail')).toMatchObject({
      state: 'down',
      reason: expect.stringContaining('Its probe failed: socket hang up'),
    })
  })

  it('counts as missing when there never was a verdict', async () => {
    const hub = await serviceHub([fakeService('mail', 'throws')])
    expect(hub.health.dependency('mail').state).toBe('unknown')
    expect(hub.toolNamesFor('worker')).toEqual([])
  })
})

describe('odd probes', () => {
  it.each([
    [
      'throws what cannot be shown',
      (): never => {
        throw Object.create(null)
      },
      'unknown',
      'something that cannot be shown',
    ],
    ['gives no verdict', (): never => undefined as never, 'unknown', 'gave no verdict'],
    ['says no without a reason', (): never => ({ up: false }) as never, 'down', 'Its probe said no.'],
    [
      'gives a reason that is no text',
      (): never => ({ up: false, reason: { a: 1 } }) as never,
      'down',
      'Its probe said no.',
    ],
    ['says only false', (): boolean => false, 'down', 'Its probe said no.'],
  ] as const)('are taken for what they are: one that %s', async (_what, probe, state, reason) => {
    const hub = await createHub({ units: { 'a.ts': { dependencies: [{ name: 'odd', probe }] } } })
    await hub.health.probeNew()
    expect(hub.health.dependency('odd')).toMatchObject({ state, reason: expect.stringContaining(reason) })
  })
})

describe('a graph of diamonds', () => {
  it('is worth what its root is, however often one path meets another', async () => {
    const root = fakeService('root', DOWN)
    const layers = Array.from({ length: 40 }, (_, layer) =>
      ['a', 'b'].map(side =>
        fakeService(`${side}${layer}`, UP, { dependsOn: layer === 0 ? ['root'] : [`a${layer - 1}`, `b${layer - 1}`] }),
      ),
    )
    const all = [root, ...layers.flat()]
    const tool = simpleTool('top', { requires: ['a39'] })
    const hub = await createHub({
      units: {
        'a.ts': { capabilities: [simpleCapability('main', [tool])], dependencies: all.map(one => one.dependency) },
      },
    })
    await hub.health.probeNew()
    expect(hub.health.missing(hub.catalogue.tool('top'))).toMatchObject([
      { reason: 'It needs "root": connection refused' },
    ])
    root.verdict = UP
    expect(await hub.health.recheck('top')).toMatchObject({ active: true })
  })
})

describe('recheck', () => {
  it('restores every tool that now has all it needs, in place', async () => {
    const mail = fakeService('mail', DOWN)
    const tools = ['a', 'b', 'c'].map(name => simpleTool(name, { requires: ['mail'] }))
    const hub = await createHub({
      units: { 'main.ts': { capabilities: [simpleCapability('main', tools)], dependencies: [mail.dependency] } },
      agents: { worker: { capabilities: { main: {} } } },
    })
    await hub.health.probeNew()
    const generation = hub.catalogue.current()
    mail.verdict = UP
    expect(await hub.health.recheck('a')).toEqual({ active: true, missing: [], probed: ['mail'] })
    expect(hub.toolNamesFor('worker')).toEqual(['a', 'b', 'c'])
    expect(hub.catalogue.current()).toBe(generation)
  })

  it('shrinks the list of what is missing when only a part came back', async () => {
    const [mail, disk] = [fakeService('mail', DOWN), fakeService('disk', DOWN)]
    const both = simpleTool('both', { requires: ['mail', 'disk'] })
    const hub = await createHub({
      units: {
        'main.ts': {
          capabilities: [simpleCapability('main', [both])],
          dependencies: [mail.dependency, disk.dependency],
        },
      },
    })
    await hub.health.probeNew()
    mail.verdict = UP
    const answer = await hub.health.recheck('both')
    expect(answer.active).toBe(false)
    expect(answer.missing.map(one => one.dependency)).toEqual(['disk'])
    expect(answer.probed.toSorted()).toEqual(['disk', 'mail'])
  })

  it('looks at the parent a child hangs on, then at the child', async () => {
    const parent = fakeService('network', DOWN)
    const child = fakeService('mail', UP, { dependsOn: ['network'] })
    const hub = await serviceHub([parent, child])
    parent.verdict = UP
    expect(await hub.health.recheck('use_mail')).toMatchObject({ active: true, probed: ['network', 'mail'] })
  })

  it('probes once for fifty callers at the same time', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await serviceHub([mail])
    mail.verdict = UP
    const answers = await Promise.all(Array.from({ length: 50 }, () => hub.health.recheck('use_mail')))
    expect(mail.probes).toBe(2)
    expect(answers.every(answer => answer.active)).toBe(true)
  })

  it('never makes unrelated ones wait for each other', async () => {
    const [slow, mail] = [fakeService('slow', DOWN), fakeService('mail', DOWN)]
    const hub = await serviceHub([slow, mail])
    slow.verdict = 'hangs'
    mail.verdict = UP
    const stuck = hub.health.recheck('use_slow')
    expect(await hub.health.recheck('use_mail')).toMatchObject({ active: true })
    await hub.clock.advance(2_000)
    expect(await stuck).toMatchObject({ active: false })
  })

  it('looks at once the first time, then not before the cool-down is over', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await serviceHub([mail])
    const first = await hub.health.recheck('mail')
    expect(first.probed).toEqual(['mail'])
    expect(first.nextRecheckAt).toBe(hub.clock.now() + 30_000)
    mail.verdict = UP
    expect(await hub.health.recheck('mail')).toMatchObject({ active: false, probed: [] })
    await hub.clock.advance(30_000)
    expect(await hub.health.recheck('mail')).toMatchObject({ active: true, probed: ['mail'] })
  })

  it('may look at once when it had been back in between', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await serviceHub([mail], { settings: { recoveringSeconds: 0 } })
    await hub.health.recheck('mail')
    mail.verdict = UP
    await hub.health.recheck('mail', { force: true })
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'gone again')
    await hub.clock.advance(1)
    mail.verdict = UP
    expect(await hub.health.recheck('mail')).toMatchObject({ active: true })
  })

  it('may look again after a second when the probe threw', async () => {
    const mail = fakeService('mail', 'throws')
    const hub = await serviceHub([mail])
    expect((await hub.health.recheck('mail')).nextRecheckAt).toBe(hub.clock.now() + 1_000)
  })

  it('tells a probe that somebody wants to know, which the watcher does not', async () => {
    const told: (boolean | undefined)[] = []
    const run = async ({ isRequested }: ProbeContext) => {
      told.push(isRequested)
      return DOWN
    }
    const mail = fakeService('mail', DOWN, { probe: { describe: { kind: 'fake' }, run } })
    const hub = await serviceHub([mail])
    await hub.health.recheck('mail')
    hub.health.watch()
    await hub.clock.advance(3_000)
    expect(told.slice(0, 3)).toEqual([false, true, false])
  })

  it('tells a probe that calls wait for it, for as long as they do', async () => {
    const told: (boolean | undefined)[] = []
    const answers = { verdict: UP as typeof UP | typeof DOWN }
    const run = async ({ isAwaited }: ProbeContext) => {
      told.push(isAwaited)
      return answers.verdict
    }
    const mail = fakeService('mail', UP, { probe: { describe: { kind: 'fake' }, run } })
    const hub = await serviceHub([mail])
    answers.verdict = DOWN
    hub.health.reportFailure('mail', 'connection reset')
    await hub.clock.advance(1_000)
    expect(new Set(told)).toEqual(new Set([false]))
    const gone = new AbortController()
    const settled = hub.health.settled({ requires: ['mail'] }, { budgetMs: 10_000, signal: gone.signal })
    await hub.clock.advance(2_000)
    expect(told.at(-1)).toBe(true)
    gone.abort()
    await settled
    await hub.clock.advance(2_000)
    expect(told.at(-1)).toBe(false)
  })

  it('says when one that answers again has done so for long enough, and looks then', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail], { settings: { recoveringSeconds: 0, flapWindowSeconds: 600 } })
    for (let fall = 0; fall < 2; fall++) {
      mail.verdict = UP
      await hub.health.recheck('mail', { force: true })
      mail.verdict = DOWN
      hub.health.reportFailure('mail', 'connection reset')
      await hub.clock.advance(1_000)
    }
    mail.verdict = UP
    const provedAt = hub.clock.now() + 5_000
    expect(await hub.health.recheck('mail')).toMatchObject({ active: false, nextRecheckAt: provedAt })
    await hub.clock.advance(3_000)
    expect(hub.health.missing({ requires: ['mail'] })).toMatchObject([{ nextRecheckAt: provedAt }])
    await hub.clock.advance(2_000)
    expect(await hub.health.recheck('mail')).toMatchObject({ active: true })
  })

  it('lets no call wait for what only a person can bring back, and does not take it for flapping', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    hub.health.watch()
    for (let time = 0; time < 3; time++) {
      mail.verdict = { up: false, reason: 'The key is refused.', final: true }
      hub.health.reportFailure('mail', 'The key is refused.')
      const call = failureOf(hub.callAs('worker', 'use_mail'))
      await hub.clock.advance(1_000)
      expect(await call).toMatchObject({ code: 'TOOL_DISABLED', message: expect.stringContaining('key is refused') })
      mail.verdict = UP
      expect(await hub.health.recheck('mail', { force: true })).toMatchObject({ active: true })
      await hub.clock.advance(6_000)
    }
  })

  it('skips the cool-down when forced', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await serviceHub([mail])
    await hub.health.recheck('mail')
    mail.verdict = UP
    expect(await hub.health.recheck('mail', { force: true })).toMatchObject({ active: true })
  })

  it('probes nothing when nothing is missing', async () => {
    const mail = fakeService('mail', UP)
    const hub = await serviceHub([mail])
    expect(await hub.health.recheck('mail', { force: true })).toEqual({ active: true, missing: [], probed: [] })
    expect(mail.probes).toBe(1)
  })

  it('takes a capability for all its tools, and asks for a prefix where a name is ambiguous', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await createHub({
      units: {
        'm.ts': {
          capabilities: [simpleCapability('mail', [simpleTool('send', { requires: ['mail'] })])],
          dependencies: [mail.dependency],
        },
      },
    })
    await hub.health.probeNew()
    await expect(hub.health.recheck('mail')).rejects.toMatchObject({ code: 'NAME_AMBIGUOUS' })
    mail.verdict = UP
    expect(await hub.health.recheck('capability:mail')).toMatchObject({ active: true })
    await expect(hub.health.recheck('mial')).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: expect.stringContaining('Did you mean "mail"?'),
    })
  })

  it('looks for a capability that nobody has seen at what its tools will need', async () => {
    const mail = fakeService('mail', DOWN)
    const capabilities = [simpleCapability('post', [], { unseen: 'It has not been reached yet.' })]
    const hub = await createHub({ units: { 'm.ts': { capabilities, dependencies: [mail.dependency] } } })
    await hub.health.probeNew()
    const answer = { active: false, missing: [{ dependency: 'mail' }] }
    expect(await hub.health.recheck('capability:post')).toMatchObject(answer)
  })
})
