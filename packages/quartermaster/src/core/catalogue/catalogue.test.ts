import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import { checkExamples, defineCapability, defineTool } from './index.ts'

const unitWith = (...names: string[]) => ({
  capabilities: [
    simpleCapability(
      'main',
      names.map(name => simpleTool(name)),
    ),
  ],
})
const agents = { worker: { capabilities: { main: {} } } }

describe('reload', () => {
  it('brings new tools, changed ones and forgets removed ones, and says which', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one', 'two') }, agents })
    hub.write('a.ts', { capabilities: [simpleCapability('main', [simpleTool('two'), simpleTool('three')])] })
    const report = await hub.catalogue.reload()
    expect(report).toMatchObject({
      generation: 2,
      added: ['tool:three'],
      changed: ['tool:two', 'capability:main'],
      removed: ['tool:one'],
      rejected: [],
    })
    expect(hub.toolNamesFor('worker')).toEqual(['two', 'three'])
  })

  it('takes a changed schema at once', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one') }, agents })
    const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    hub.write('a.ts', { capabilities: [simpleCapability('main', [simpleTool('one', { input })])] })
    await hub.catalogue.reload()
    await expect(hub.callAs('worker', 'one', {})).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('keeps the last good version of a broken file and reports it', async () => {
    const hub = await createHub({
      units: { 'a.ts': unitWith('one'), 'b.ts': { capabilities: [simpleCapability('other', [simpleTool('x')])] } },
      agents,
    })
    hub.spoil('a.ts', 'capabilities/a.ts:3:7: Unexpected "}"')
    const report = await hub.catalogue.reload()
    expect(report).toMatchObject({
      generation: 1,
      removed: [],
      rejected: [{ where: 'a.ts', message: expect.stringContaining('3:7') }],
    })
    expect(hub.toolNamesFor('worker')).toEqual(['one'])
    expect(hub.catalogue.problems()).toHaveLength(1)
    hub.write('a.ts', unitWith('one', 'two'))
    expect(await hub.catalogue.reload()).toMatchObject({ generation: 2, added: ['tool:two'], rejected: [] })
  })

  it('keeps the last good version of a file whose new version defines something wrong', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one') }, agents })
    hub.write('a.ts', { capabilities: [simpleCapability('main', [simpleTool('one', { retry: 'maybe' as never })])] })
    const report = await hub.catalogue.reload()
    expect(report.rejected[0]).toMatchObject({
      subject: 'tool:one',
      field: 'retry',
      fix: expect.stringContaining('last good version'),
    })
    expect(hub.toolNamesFor('worker')).toEqual(['one'])
  })

  it('lets a call in flight finish on the generation it started in', async () => {
    let release = () => {}
    const gate = new Promise<void>(resolve => (release = resolve))
    const slow = simpleTool('slow', { handler: () => gate.then(() => 'old') })
    const hub = await createHub({ units: { 'a.ts': { capabilities: [simpleCapability('main', [slow])] } }, agents })
    const call = hub.callAs('worker', 'slow')
    await hub.clock.advance(1)
    hub.write('a.ts', { capabilities: [simpleCapability('main', [simpleTool('slow', { handler: () => 'new' })])] })
    await hub.catalogue.reload()
    release()
    expect((await call).result.content).toEqual([{ type: 'text', text: 'old' }])
    expect((await hub.callAs('worker', 'slow')).result.content).toEqual([{ type: 'text', text: 'new' }])
  })

  it('is built once for those who ask at the same time', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one') } })
    const before = hub.loads()
    hub.write('a.ts', unitWith('two'))
    const [first, second] = await Promise.all([hub.catalogue.reload(), hub.catalogue.reload()])
    expect(hub.loads()).toBe(before + 1)
    expect(first).toBe(second)
  })

  it('is built again for those who ask while a build is already reading', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one') } })
    hub.write('a.ts', unitWith('two'))
    const first = hub.catalogue.reload()
    await hub.clock.breathe()
    await hub.clock.breathe()
    hub.write('a.ts', unitWith('three'))
    await Promise.all([first, hub.catalogue.reload(), hub.catalogue.reload()])
    expect([...hub.catalogue.current().tools.keys()]).toEqual(['three'])
  })

  it('probes only dependencies that are new, before their tools are offered', async () => {
    const [old, fresh] = [fakeService('old', UP), fakeService('fresh', UP)]
    const tools = [simpleTool('a', { requires: ['old'] })]
    const hub = await createHub({
      units: { 'a.ts': { capabilities: [simpleCapability('main', tools)], dependencies: [old.dependency] } },
      agents,
    })
    await hub.health.probeNew()
    hub.write('a.ts', {
      capabilities: [simpleCapability('main', [...tools, simpleTool('b', { requires: ['fresh'] })])],
      dependencies: [old.dependency, fresh.dependency],
    })
    await hub.catalogue.reload()
    expect([old.probes, fresh.probes]).toEqual([1, 1])
    expect(hub.toolNamesFor('worker')).toEqual(['a', 'b'])
  })

  it('does not wait for a new dependency that is slow to answer', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one') } })
    const slow = fakeService('slow', 'hangs', { timeoutMs: 20_000 })
    hub.write('b.ts', { dependencies: [slow.dependency] })
    const reload = hub.catalogue.reload()
    for (let turn = 0; turn < 10; turn++) await hub.clock.advance(500)
    expect(await reload).toMatchObject({ generation: 2, added: ['dependency:slow'] })
    expect(hub.health.dependency('slow').state).toBe('unknown')
  })

  it('leaves the state of dependencies as it was', async () => {
    const mail = fakeService('mail', DOWN)
    const hub = await createHub({ units: { 'a.ts': { dependencies: [mail.dependency] } } })
    await hub.health.probeNew()
    await hub.clock.advance(5_000)
    const before = hub.health.dependency('mail')
    hub.write('b.ts', unitWith('one'))
    await hub.catalogue.reload()
    expect(hub.health.dependency('mail')).toEqual(before)
  })

  it('happens by itself when a source says that it changed', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one') } })
    hub.catalogue.watch()
    const swapped = new Promise(resolve => hub.emitter.on('generation.swapped', resolve))
    hub.write('a.ts', unitWith('two'))
    hub.touch()
    expect(await swapped).toMatchObject({ generation: 2, added: ['tool:two'] })
  })
})

describe('definitions', () => {
  it('take zod, arktype, valibot with JSON Schema beside it, and raw JSON Schema', async () => {
    const handler = ({ city }: { city: string }) => city.toUpperCase()
    const base = { short: 'Shouts a city.', mutates: false }
    const tools = [
      defineTool({ ...base, name: 'with_zod', input: z.object({ city: z.string() }), handler }),
      defineTool({ ...base, name: 'with_arktype', input: type({ city: 'string' }), handler }),
      defineTool({
        ...base,
        name: 'with_valibot',
        input: {
          schema: v.object({ city: v.string() }),
          jsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
        handler,
      }),
      defineTool({
        ...base,
        name: 'with_json_schema',
        input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        handler,
      }),
    ]
    const hub = await createHub({ units: { 'a.ts': { capabilities: [simpleCapability('main', tools)] } }, agents })
    expect(hub.catalogue.problems()).toEqual([])
    for (const { name } of tools) {
      expect((await hub.callAs('worker', name, { city: 'Rome' })).result.content).toEqual([
        { type: 'text', text: 'ROME' },
      ])
      await expect(hub.callAs('worker', name, { city: 7 })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
      expect(hub.catalogue.tool(name).inputSchema).toMatchObject({ type: 'object', required: ['city'] })
    }
  })

  it('are left out when wrong, with file, field and every problem at once, and the rest runs', async () => {
    const bad = simpleTool('bad', {
      retry: 'sometimes' as never,
      timeoutMs: -1,
      input: { type: 'object', properties: { x: { $ref: 'https://example.com/x.json' } } },
    })
    const hub = await createHub({
      units: { 'a.ts': { capabilities: [simpleCapability('main', [bad, simpleTool('good')])] } },
      agents,
    })
    expect(hub.toolNamesFor('worker')).toEqual(['good'])
    const fields = hub.catalogue.problems().map(problem => [problem.where, problem.subject, problem.field])
    expect(fields).toContainEqual(['a.ts', 'tool:bad', 'retry'])
    expect(fields).toContainEqual(['a.ts', 'tool:bad', 'timeoutMs'])
    expect(fields.some(([, , field]) => field?.startsWith('input.'))).toBe(true)
  })

  it.each([
    [
      'effects on a tool that is not idempotent',
      { mutates: true, effects: [{ name: 'note', kind: 'file' }] },
      'effects',
    ],
    ['verifyFirst without effects', { mutates: true, idempotent: true, retry: 'verifyFirst' as const }, 'retry'],
    ['replay of a tool that is not idempotent', { mutates: true, retry: 'replay' as const }, 'retry'],
    [
      'an effect nothing here can verify',
      { mutates: true, idempotent: true, effects: [{ name: 'n', kind: 'moon' }] },
      'effects',
    ],
    ['an unknown consent operation', { consent: ['files.wirte'] }, 'consent'],
    ['an unknown dependency', { requires: ['mial'] }, 'requires'],
    ['a misspelled field', { require: ['mail'] } as never, 'require'],
    ['an input that is no object', { input: { type: 'string' } }, 'input.type'],
    ['a name no runtime accepts', { name: 'has space' }, 'name'],
  ])('refuse %s', async (_what, fault, field) => {
    const hub = await createHub({
      units: { 'a.ts': { capabilities: [simpleCapability('main', [simpleTool('bad', fault)])] } },
    })
    expect(hub.catalogue.problems().map(problem => problem.field)).toContain(field)
    expect(hub.catalogue.current().tools.size).toBe(0)
  })

  it.each([
    ['{path}', { properties: { path: { type: 'string' } } }, []],
    ['{file.path}#{line}', { properties: { file: {}, line: {} } }, []],
    ['{path}', {}, []],
    ['{paht}', { properties: { path: { type: 'string' } } }, ['paht']],
  ])('warn of a scope that no tool has the arguments for: %s', async (scope, schema, missing) => {
    const tool = simpleTool('save', { consent: ['main.save'], input: { type: 'object', ...schema } })
    const consentOperations = [{ name: 'main.save', reason: 'It saves.', weight: 'low' as const, scope }]
    const hub = await createHub({
      units: { 'a.ts': { capabilities: [simpleCapability('main', [tool], { consentOperations })] } },
    })
    expect(hub.catalogue.problems()).toMatchObject(
      missing.map(name => ({
        severity: 'warning',
        subject: 'consent:main.save',
        message: expect.stringContaining(`names "${name}"`),
      })),
    )
    expect(hub.catalogue.current().tools.size).toBe(1)
  })

  it('take code as a scope, and nothing else that is no template', async () => {
    const tool = simpleTool('save', { consent: ['main.save'] })
    const hubWith = (scope: unknown) =>
      createHub({
        units: {
          'a.ts': {
            capabilities: [
              simpleCapability('main', [tool], {
                consentOperations: [{ name: 'main.save', reason: 'It saves.', weight: 'low', scope: scope as string }],
              }),
            ],
          },
        },
      })
    expect((await hubWith(() => 'all')).catalogue.problems()).toEqual([])
    for (const scope of ['path', 7, { path: 'a' }])
      expect((await hubWith(scope)).catalogue.problems().map(({ subject }) => subject)).toContain('consent:main.save')
  })

  it('keep the earlier of two consent operations that differ in what an answer is for', async () => {
    const unit = (key: string, more: object) => {
      const operation = { name: 'main.save', reason: 'It saves.', weight: 'low' as const, ...more }
      return { capabilities: [simpleCapability(key, [], { consentOperations: [operation] })] }
    }
    const hub = await createHub({ units: { 'a.ts': unit('one', { grantable: 'once' }), 'b.ts': unit('two', {}) } })
    expect(hub.catalogue.current().consentOperations.get('main.save')).toMatchObject({ grantable: 'once' })
    expect(hub.catalogue.problems()).toMatchObject([{ where: 'b.ts', subject: 'consent:main.save' }])
  })

  it('keep the earlier of two equal names and say so', async () => {
    const hub = await createHub({
      units: {
        'a.ts': unitWith('same'),
        'b.ts': { capabilities: [simpleCapability('other', [simpleTool('same'), simpleTool('mine')])] },
      },
    })
    expect(hub.catalogue.tool('same').unit).toBe('a.ts')
    expect([...hub.catalogue.current().tools.keys()]).toEqual(['same', 'mine'])
    expect(hub.catalogue.problems()).toMatchObject([
      { where: 'b.ts', subject: 'tool:same', message: expect.stringContaining('taken by a.ts') },
    ])
  })

  it('name "fix" to an author who wrote "mend"', async () => {
    const dependency = { name: 'station', probe: async () => undefined, mend: 'Plug it in.' }
    const hub = await createHub({ units: { 'a.ts': { dependencies: [dependency as never] } } })
    const [problem] = hub.catalogue.problems()
    expect(problem?.message).toBe('dependency "station": mend is not a field of a dependency. It is called "fix".')
  })

  it('leave out dependencies that hang on each other, and the tools that need them', async () => {
    const dependencies = [
      fakeService('a', UP, { dependsOn: ['b'] }).dependency,
      fakeService('b', UP, { dependsOn: ['a'] }).dependency,
    ]
    const hub = await createHub({
      units: {
        'a.ts': { capabilities: [simpleCapability('main', [simpleTool('t', { requires: ['a'] })])], dependencies },
      },
    })
    expect(hub.catalogue.current().dependencies.size).toBe(0)
    expect(hub.catalogue.current().tools.size).toBe(0)
    expect(hub.catalogue.problems().map(problem => problem.subject)).toContain('dependency:a')
  })

  it('name the closest tool when one is not found', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('weather') } })
    expect(() => hub.catalogue.tool('wether')).toThrow(
      expect.objectContaining({ code: 'TOOL_NOT_FOUND', message: expect.stringContaining('"weather"') }),
    )
  })

  it('say of a tool that is held back why it is not there, as they do to whoever calls it', async () => {
    const withheld = [{ name: 'drop', calledAs: 'far_drop', reason: 'It was rejected.' }]
    const capability = { ...simpleCapability('far', [simpleTool('far_read')]), withheld }
    const hub = await createHub({
      units: { 'a.ts': { capabilities: [capability] } },
      agents: { ada: { capabilities: { far: {} } } },
    })
    const held = { code: 'TOOL_DISABLED', message: '"far_drop" is not offered now. It was rejected.' }
    expect(() => hub.catalogue.tool('far_drop')).toThrow(expect.objectContaining(held))
    await expect(hub.callAs('ada', 'far_drop')).rejects.toMatchObject(held)
    expect(() => hub.catalogue.tool('drop')).toThrow(expect.objectContaining({ code: 'TOOL_NOT_FOUND' }))
  })
})

describe('examples', () => {
  it('are told when their own schema refuses them', async () => {
    const input = { type: 'object', required: ['a'] }
    const tool = simpleTool('t', {
      input,
      examples: [
        { query: 'all of it', input: {} },
        { query: 'a', input: { a: 1 } },
      ],
    })
    const hub = await createHub({ units: { 'a.ts': { capabilities: [simpleCapability('main', [tool])] } } })
    expect(await checkExamples(hub.catalogue.current())).toMatchObject([
      {
        severity: 'warning',
        subject: 'tool:t',
        field: 'examples.0.input',
        message: expect.stringContaining('all of it'),
      },
    ])
  })
})

describe('registering', () => {
  it('makes a capability available at once', async () => {
    const hub = await createHub({ agents: { worker: { capabilities: { late: {} } } } })
    hub.registry.register(defineCapability({ key: 'late', short: 'Late.', tools: [simpleTool('late_tool')] }))
    expect(hub.toolNamesFor('worker')).toEqual(['late_tool'])
    await hub.catalogue.reload()
    expect(hub.toolNamesFor('worker')).toEqual(['late_tool'])
  })

  it('refuses a wrong one and changes nothing', async () => {
    const hub = await createHub({ units: { 'a.ts': unitWith('one') } })
    const register = () => hub.registry.register(defineCapability({ key: 'main', short: 'Again.', tools: [] }))
    expect(register).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    expect(hub.catalogue.current().number).toBe(1)
  })
})
