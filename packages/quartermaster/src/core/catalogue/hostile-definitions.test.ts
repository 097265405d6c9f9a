import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createHub, failureOf, simpleCapability, simpleTool, type UnitContents } from '../../testing/hub.ts'
import { defineInjection } from './index.ts'

const good = { capabilities: [simpleCapability('good', [simpleTool('good')])] }

/** Definitions as code without types might write them. */
const untyped = (contents: unknown) => contents as UnitContents

describe('a definition that is nothing like one', () => {
  it.each<[string, UnitContents, string]>([
    [
      'requires that is no list',
      { capabilities: [simpleCapability('bad', [simpleTool('t', { requires: 5 as never })])] },
      'requires',
    ],
    [
      'requires that is a text',
      { capabilities: [simpleCapability('bad', [simpleTool('t', { requires: 'mail' as never })])] },
      'requires',
    ],
    [
      'a capability that requires no list',
      { capabilities: [simpleCapability('bad', [], { requires: 5 as never })] },
      'requires',
    ],
    ['tools that are no list', { capabilities: [simpleCapability('bad', {} as never)] }, 'tools'],
    [
      'dependencies with a hole',
      { capabilities: [simpleCapability('bad', [], { dependencies: [null] as never })] },
      'dependencies',
    ],
    [
      'consent operations that are no list',
      { capabilities: [simpleCapability('bad', [], { consentOperations: {} as never })] },
      'consentOperations',
    ],
    ['no input', { capabilities: [simpleCapability('bad', [simpleTool('t', { input: null as never })])] }, 'input'],
    [
      'an injection without tools',
      untyped({ injections: [defineInjection({ key: 'i', short: 'x', modes: ['delegated'] } as never)] }),
      'tools',
    ],
    [
      'an injection for no kind of run',
      untyped({ injections: [defineInjection({ key: 'i', short: 'x', modes: ['nightly'], tools: [] } as never)] }),
      'modes.0',
    ],
    [
      'a name that means something to every object',
      { capabilities: [simpleCapability('bad', [simpleTool('__proto__')])] },
      'name',
    ],
  ])('spoils itself and is explained: %s', async (_what, contents, field) => {
    const hub = await createHub({ units: { 'bad.ts': contents, 'good.ts': good } })
    expect([...hub.catalogue.current().tools.keys()]).toEqual(['good'])
    const [problem] = hub.catalogue.problems()
    expect(problem).toMatchObject({ where: 'bad.ts', field })
  })

  it('spoils its own file when it cannot even be read', async () => {
    const trap = simpleCapability('bad', [])
    const lying = new Proxy(trap, {
      get() {
        throw new Error('no')
      },
    })
    const hub = await createHub({ units: { 'bad.ts': { capabilities: [lying] }, 'good.ts': good } })
    expect([...hub.catalogue.current().tools.keys()]).toEqual(['good'])
    expect(hub.catalogue.problems()).toMatchObject([
      { where: 'bad.ts', message: 'Its definitions cannot be read: no.' },
    ])
  })
})

describe('a new version that does not fit', () => {
  const one = (more = {}) => ({ capabilities: [simpleCapability('main', [simpleTool('one', more)])] })

  it('leaves the version that did', async () => {
    const hub = await createHub({ units: { 'a.ts': one() } })
    hub.write('a.ts', one({ requires: ['nowhere'] }))
    const report = await hub.catalogue.reload()
    expect(report.rejected).toMatchObject([{ field: 'requires', fix: expect.stringContaining('last good version') }])
    expect(hub.catalogue.tool('one').requires).toEqual([])
    expect(await hub.catalogue.reload()).toMatchObject({
      generation: report.generation,
      rejected: [{ field: 'requires' }],
    })
  })

  it('leaves the version that did although that one had a warning', async () => {
    const hub = await createHub({ units: { 'a.ts': one() } })
    const warning = {
      severity: 'warning' as const,
      code: 'DEFINITION_INVALID' as const,
      where: 'a.ts',
      message: 'Loose.',
    }
    hub.write('a.ts', one(), [warning])
    await hub.catalogue.reload()
    hub.write('a.ts', one({ timeoutMs: -1 }))
    await hub.catalogue.reload()
    expect(hub.catalogue.current().tools.has('one')).toBe(true)
  })
})

describe('a source that takes its time', () => {
  it('does not hold up the others, and comes when it is there', async () => {
    const hub = await createHub({
      units: { 'a.ts': good },
      agents: { worker: { capabilities: { good: {} } } },
      slow: true,
    })
    expect(hub.catalogue.current().number).toBe(1)
    expect(hub.catalogue.current().tools.size).toBe(0)
    expect(hub.catalogue.problems()).toMatchObject([
      { severity: 'warning', message: expect.stringContaining('still loading') },
    ])
    expect(hub.agents.problems('worker')).toEqual([])
    expect(hub.agents.session('worker').view().report()).toMatchObject([{ capability: 'good', state: 'unavailable' }])
    const swapped = new Promise(resolve => hub.emitter.on('generation.swapped', resolve))
    hub.hurry()
    await swapped
    expect([...hub.catalogue.current().tools.keys()]).toEqual(['good'])
    expect(hub.catalogue.problems()).toEqual([])
  })

  it('is waited for longer where it is only read', async () => {
    const agents = { worker: { capabilities: { good: {} } } }
    const clock = createFakeClock()
    const startedAt = clock.now()
    const starting = createHub({ units: { 'a.ts': good }, agents, kind: 'upstream', slow: true, clock })
    const readyAt = starting.then(() => clock.now())
    for (let second = 0; second < 12; second++) await clock.advance(1_000)
    expect((await starting).catalogue.current().isPartial).toBe(true)
    expect((await readyAt) - startedAt).toBeGreaterThanOrEqual(10_000)
  })

  it.each([{}, { tools: ['good'] }])('is not taken for one without the tool (%j)', async config => {
    const agents = { worker: { capabilities: { good: config } } }
    const hub = await createHub({ units: { 'a.ts': good }, agents, slow: true })
    const call = failureOf(hub.callAs('worker', 'good', {}, { timeoutMs: 100 }))
    await hub.clock.advance(100)
    expect(await call).toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('It is still being loaded'),
    })
  })
})
