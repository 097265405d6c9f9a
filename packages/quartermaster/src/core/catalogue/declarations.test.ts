import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHub, DOWN, type Hub, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import { defineDependency, type Op, type OpDefinition, registerOp } from './index.ts'

const Settings = z.strictObject({ note: z.string().default('inbox') })
const Input = z.object({
  text: z.string().max(100).describe('The line.'),
  mood: z.enum(['glad', 'sad', 'calm']).optional(),
  times: z.number().int().min(1).max(5).default(1),
})
const APPEND: OpDefinition<typeof Settings, typeof Input> = {
  short: 'Adds a line to a note.',
  settings: Settings,
  input: Input,
  idempotent: false,
  handler: ({ text, times, mood }, { settings, caller }) =>
    `${settings.note}: ${Array(times).fill(text).join(' ')} ${mood ?? ''} (${caller.name})`,
}
const append = (more: Partial<OpDefinition> = {}): Op => registerOp('op.notes.append', { ...APPEND, ...more } as never)

const HEAD = { schema: 1, op: 'op.notes.append', short: 'Keeps a thought.', parameters: { text: {} } }
type Front = Record<string, unknown>
const file = (front: Front = {}, path = 'thoughts/keep', body = 'How to keep one.') => ({
  written: [{ path, front: { ...HEAD, ...front }, body }],
})
const KEEP = 'knowledge/thoughts/keep.md'
const agents = { worker: { capabilities: { thoughts: {} } } }
const hubWith = (front: Front = {}, op: Op = append()) =>
  createHub({ units: { 'ops.ts': { ops: [op] }, [KEEP]: file(front) }, agents })
const say = async (hub: Hub, input: unknown, tool = 'keep') => (await hub.callAs('worker', tool, input)).result.content
const text = (words: string) => [{ type: 'text', text: words }]
const messages = (hub: Hub) => hub.catalogue.problems().map(({ message }) => message)

describe('a declaration', () => {
  it('is a tool like any other, but for the op it is made of', async () => {
    const hub = await hubWith({ with: { note: 'diary' } })
    expect(hub.catalogue.problems()).toEqual([])
    expect(await say(hub, { text: 'rain' })).toEqual(text('diary: rain  (worker)'))
    expect(hub.catalogue.tool('keep')).toMatchObject({
      opId: 'op.notes.append',
      title: 'Keep',
      short: 'Keeps a thought.',
      section: 'thoughts',
      capability: 'thoughts',
      unit: KEEP,
      body: 'How to keep one.',
      mutates: true,
      idempotent: false,
      command: { name: 'keep' },
      inputSchema: {
        type: 'object',
        properties: { text: { type: 'string', maxLength: 100, description: 'The line.' } },
        required: ['text'],
        additionalProperties: false,
      },
    })
    expect(hub.catalogue.tool('keep').requires).toEqual([])
  })

  it('takes what it declares and nothing else', async () => {
    const hub = await hubWith({ parameters: { text: { maxLength: 5 }, mood: { enum: ['glad', 'calm'] } } })
    expect(await say(hub, { text: 'rain', mood: 'calm' })).toEqual(text('inbox: rain calm (worker)'))
    for (const input of [{}, { text: 'thunder' }, { text: 'rain', mood: 'sad' }, { text: 'rain', times: 2 }])
      await expect(hub.callAs('worker', 'keep', input)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('gives its op what is fixed, and what a parameter is when nobody says', async () => {
    const hub = await hubWith({ parameters: { text: { default: 'so so' } }, fixed: { times: 2, mood: 'sad' } })
    expect(await say(hub, {})).toEqual(text('inbox: so so so so sad (worker)'))
    expect(hub.catalogue.tool('keep').inputSchema.required).toBeUndefined()
  })

  it('is checked by its op too, beyond what can be written down', async () => {
    const input = z.object({ text: z.string().refine(one => one !== 'secret', 'must be no secret') })
    const hub = await hubWith({}, append({ input, handler: () => 'kept' } as never))
    await expect(hub.callAs('worker', 'keep', { text: 'secret' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('must be no secret'),
    })
  })

  it('says itself what persons may have to allow', async () => {
    const consent = [{ name: 'thoughts.keep', reason: 'It stays.', weight: 'low', scope: '{text}' }]
    const hub = await hubWith({ consent })
    expect(hub.catalogue.problems()).toEqual([])
    expect(hub.catalogue.tool('keep').consent).toEqual(['thoughts.keep'])
    expect(hub.catalogue.current().consentOperations.get('thoughts.keep')).toMatchObject({ weight: 'low' })
  })

  it('may have objects in its parameters, each property saying whether it is required', async () => {
    const op = registerOp('op.free.echo', { short: 'Echoes.', mutates: false, handler: input => JSON.stringify(input) })
    const point = { type: 'object', properties: { x: { type: 'number', required: true }, y: { type: 'number' } } }
    const hub = await hubWith({ op: 'op.free.echo', parameters: { point: { ...point, required: true } } }, op)
    expect(hub.catalogue.problems()).toEqual([])
    await expect(hub.callAs('worker', 'keep', { point: { y: 1 } })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(await say(hub, { point: { x: 1 } })).toEqual(text('{"point":{"x":1}}'))
  })

  it('is disabled while something is missing that its op needs for it', async () => {
    let verdict = DOWN
    const op = append({ dependencies: () => [defineDependency({ name: 'notes_key', probe: () => verdict })] })
    const units = { 'ops.ts': { ops: [op] }, [KEEP]: file(), 'knowledge/thoughts/again.md': file({}, 'thoughts/again') }
    const hub = await createHub({ units, agents })
    await hub.health.probeNew()
    expect(hub.catalogue.problems()).toEqual([])
    expect(hub.toolNamesFor('worker')).toEqual([])
    verdict = UP
    await hub.health.recheck('notes_key', { force: true })
    expect(hub.toolNamesFor('worker')).toEqual(['keep', 'again'])
    expect(hub.catalogue.tool('again').requires).toEqual(['notes_key'])
  })
})

describe('declarations of one capability', () => {
  it('make it together, in the words of the page of their folder', async () => {
    const page = {
      path: 'thoughts',
      front: { kind: 'capability', title: 'My thoughts', summary: 'What I think.' },
      body: '',
    }
    const hub = await createHub({
      units: {
        'ops.ts': { ops: [append()] },
        [KEEP]: file(),
        'knowledge/other/drop.md': file({ capability: 'thoughts' }, 'other/drop'),
      },
      agents,
    })
    expect(hub.toolNamesFor('worker')).toEqual(['keep', 'drop'])
    expect(hub.catalogue.tool('drop').section).toBe('other')
    expect(hub.catalogue.current().capabilities.get('thoughts')).toMatchObject({
      title: 'Thoughts',
      short: 'Keep, Drop.',
    })
    hub.write('knowledge/thoughts/index.md', { written: [page] })
    await hub.catalogue.reload()
    expect(hub.catalogue.current().capabilities.get('thoughts')).toMatchObject({
      title: 'My thoughts',
      short: 'What I think.',
    })
  })

  it('leave one that is programmed as it is, and each is told', async () => {
    const hub = await createHub({
      units: {
        'ops.ts': { ops: [append()], capabilities: [simpleCapability('thoughts', [simpleTool('think')])] },
        [KEEP]: file(),
        'knowledge/thoughts/again.md': file({}, 'thoughts/again'),
      },
      agents,
    })
    expect(hub.toolNamesFor('worker')).toEqual(['think'])
    expect(hub.catalogue.problems()).toMatchObject([
      { where: KEEP, field: 'capability', message: expect.stringContaining('that of ops.ts') },
      { where: 'knowledge/thoughts/again.md', field: 'capability' },
    ])
  })

  it('tell an agent that lists a wrong one that it is wrong, and leave it the others', async () => {
    const hub = await createHub({
      units: {
        'ops.ts': { ops: [append()] },
        [KEEP]: file(),
        'knowledge/thoughts/bad.md': file({ mutate: false }, 'thoughts/bad'),
      },
      agents: { worker: { capabilities: { thoughts: { tools: ['keep', 'bad'] } } } },
    })
    expect(hub.toolNamesFor('worker')).toEqual(['keep'])
    expect(hub.agents.entry('worker').problems).toEqual([])
  })
})

describe('a wrong declaration', () => {
  it.each<[string, Front, string]>([
    ['has no version', { schema: undefined }, 'schema is needed.'],
    ['is of another version', { schema: 2 }, 'schema is 2, and declarations are read in version 1 here.'],
    [
      'names an op that nobody has',
      { op: 'op.notes.apend' },
      'op "op.notes.apend" is registered by nothing. Did you mean "op.notes.append"?',
    ],
    ['names no op', { op: 'append' }, 'op must look like "op.notes.append".'],
    ['says nothing of itself', { short: undefined }, 'short is needed.'],
    [
      'has a field that there is not',
      { paramters: {} },
      'paramters is not a field of a declaration. Did you mean "parameters"?',
    ],
    [
      'has a parameter that the op does not take',
      { parameters: { text: {}, moods: {} } },
      'parameters.moods is no input of "op.notes.append". Did you mean "mood"?',
    ],
    [
      'has a parameter of another type',
      { parameters: { text: { type: 'number' } } },
      'parameters.text.type is "number", and the op takes string.',
    ],
    [
      'takes longer texts than the op',
      { parameters: { text: { maxLength: 200 } } },
      'parameters.text.maxLength must be at most 100, as the op has it.',
    ],
    [
      'offers what the op does not',
      { parameters: { text: {}, mood: { enum: ['glad', 'mad'] } } },
      'parameters.mood has "mad", which the op does not take.',
    ],
    [
      'has a larger range than the op',
      { parameters: { text: {}, times: { minimum: 0 } } },
      'parameters.times.minimum must be at least 1, as the op has it.',
    ],
    [
      'leaves out what the op needs',
      { parameters: {} },
      'parameters.text is missing, and "op.notes.append" needs it: declare it, or give it a value under "fixed".',
    ],
    [
      'does not ask for what the op needs',
      { parameters: { text: { required: false } } },
      'parameters.text.required must be true, or have a default: "op.notes.append" needs it.',
    ],
    [
      'says required in the way of JSON Schema',
      { parameters: { text: { required: ['x'] } } },
      'parameters.text.required must be true or false; inside of an object, say it at each property.',
    ],
    [
      'fixes what it asks for',
      { fixed: { text: 'x' } },
      'fixed.text is a parameter as well; it can be only one of the two.',
    ],
    ['fixes what the op does not take', { fixed: { times: 9 } }, 'fixed.times has 9, which the op does not take.'],
    [
      'fixes what there is not',
      { fixed: { time: 1 } },
      'fixed.time is no input of "op.notes.append". Did you mean "times"?',
    ],
    [
      'has a default that it would refuse',
      { parameters: { text: { maxLength: 2, default: 'long' } } },
      'parameters.text.default is wrong: The value must have at most 2 characters.',
    ],
    [
      'has settings that the op has not',
      { with: { nota: 'x' } },
      'with.nota is no setting of "op.notes.append". Did you mean "note"?',
    ],
    ['has an example that it would refuse', { examples: [{ query: 'x', input: {} }] }, 'examples.0.input'],
    ['says that it is the same twice, and the op is not', { idempotent: true }, 'idempotent cannot be true'],
    [
      'has a command that is none',
      { command: 'keep' },
      'command must be { name }, lower case words joined by "-", or { none }, why there is no command.',
    ],
    ['has a consent operation without a reason', { consent: [{ name: 'a.b', weight: 'low' }] }, 'consent.0 reason'],
  ])('that %s is left out, with file and field', async (_what, front, message) => {
    const hub = await hubWith(front)
    expect(hub.toolNamesFor('worker')).toEqual([])
    expect(messages(hub).join('\n')).toContain(message)
    expect(hub.catalogue.problems()).toMatchObject([
      { where: KEEP, severity: 'error', subject: 'declaration:thoughts/keep' },
    ])
  })

  it.each<[string, Partial<OpDefinition>, Front, string]>([
    ['changes things', { mutates: true }, { mutates: false }, 'mutates cannot be false: the op changes things.'],
    [
      'is retried by hand',
      { retry: 'manual' },
      { retry: 'verifyFirst' },
      'retry is "verifyFirst", and the op allows "manual".',
    ],
    [
      'ends after a second',
      { timeoutMs: 1000 },
      { timeoutSeconds: 2 },
      'timeoutSeconds is at most 1, as the op has it.',
    ],
    [
      'gives little',
      { maxResultBytes: 2048 },
      { maxResultBytes: 4096 },
      'maxResultBytes is at most 2048, as the op has it.',
    ],
    ['is no task', { asTask: 'never' }, { asTask: 'always' }, 'asTask is "always", and the op is "never".'],
    [
      'changes things as it is set up',
      { facts: () => ({ mutates: true }) },
      { mutates: false },
      'mutates cannot be false',
    ],
    ['finds fault with it', { check: () => [{ field: 'with.note', message: 'is taken' }] }, {}, 'with.note is taken.'],
    [
      'fails',
      {
        check: () => {
          throw new Error('no luck')
        },
      },
      {},
      'op cannot be used: "op.notes.append" failed with: no luck.',
    ],
  ])('of an op that %s is left out', async (_what, op, front, message) => {
    const hub = await hubWith(front, append({ idempotent: true, ...op }))
    expect(hub.toolNamesFor('worker')).toEqual([])
    expect(messages(hub)).toEqual(expect.arrayContaining([expect.stringContaining(message)]))
  })

  it('is told of all at once', async () => {
    const hub = await hubWith({
      parameters: { moods: {} },
      fixed: { times: 9 },
      with: { note: 7 },
      examples: [{ query: 'x', input: { y: 1 } }],
    })
    expect(hub.catalogue.problems().map(({ field }) => field)).toEqual([
      'with.note',
      'parameters.moods',
      'fixed.times',
      'parameters.text',
      expect.stringContaining('examples.0.input'),
    ])
  })

  it('needs a folder or a section, and a name that a tool can have', async () => {
    const hub = await createHub({ units: { 'ops.ts': { ops: [append()] }, 'knowledge/zwölf.md': file({}, 'zwölf') } })
    expect(hub.catalogue.problems().map(({ field }) => field)).toEqual(['name', 'section'])
  })

  it('may be more careful than its op', async () => {
    const op = append({ mutates: false, timeoutMs: 60_000, consent: ['a.b'], asTask: 'whenPossible', idempotent: true })
    const units = {
      'ops.ts': {
        ops: [op],
        capabilities: [
          simpleCapability('x', [], {
            consentOperations: [
              { name: 'a.b', reason: 'So.', weight: 'low' },
              { name: 'a.c', reason: 'So.', weight: 'low' },
            ],
          }),
        ],
      },
    }
    const careful = { mutates: true, timeoutSeconds: 5, consent: ['a.c'], asTask: 'never' }
    const hub = await createHub({ units: { ...units, [KEEP]: file(careful) }, agents })
    expect(hub.catalogue.problems()).toEqual([])
    expect(hub.catalogue.tool('keep')).toMatchObject({
      mutates: true,
      timeoutMs: 5_000,
      consent: ['a.b', 'a.c'],
      asTask: 'never',
    })
  })
})

describe('a reload', () => {
  it('takes over an edited declaration, and says so', async () => {
    const hub = await hubWith()
    hub.write(KEEP, file({ short: 'Keeps it well.' }))
    expect(await hub.catalogue.reload()).toMatchObject({ changed: ['tool:keep', 'capability:thoughts'], rejected: [] })
    expect(hub.catalogue.tool('keep').short).toBe('Keeps it well.')
  })

  it.each<[string, Front]>([
    ['is wrong by itself', { retry: 'maybe' }],
    ['does not fit its op', { parameters: { txt: {} } }],
    ['names an op that nobody has', { op: 'op.notes.forget' }],
  ])('keeps the last good version of one that %s, until it is mended', async (_what, front) => {
    const hub = await hubWith()
    hub.write(KEEP, file(front))
    const { rejected } = await hub.catalogue.reload()
    expect(rejected[0]).toMatchObject({
      where: KEEP,
      mend: expect.stringContaining('The last good version stays in use.'),
    })
    expect(await say(hub, { text: 'rain' })).toEqual(text('inbox: rain  (worker)'))
    hub.write(KEEP, file({ name: 'note_it' }))
    expect(await hub.catalogue.reload()).toMatchObject({
      added: ['tool:note_it'],
      removed: ['tool:keep'],
      rejected: [],
    })
    expect(hub.toolNamesFor('worker')).toEqual(['note_it'])
  })

  it('changes the tools of an op whose code has changed, and looks at no others', async () => {
    const looked: string[] = []
    const other = registerOp('op.notes.count', {
      short: 'Counts.',
      check: () => {
        looked.push('count')
        return []
      },
      handler: () => 'many',
    })
    const hub = await createHub({
      units: {
        'ops.ts': { ops: [append()] },
        'other.ts': { ops: [other] },
        [KEEP]: file(),
        'knowledge/thoughts/count.md': file({ op: 'op.notes.count', parameters: {} }, 'thoughts/count'),
      },
      agents,
    })
    const before = hub.catalogue.tool('count')
    hub.write('ops.ts', { ops: [append({ handler: () => 'new' } as never)] })
    expect(await hub.catalogue.reload()).toMatchObject({ changed: ['tool:keep', 'op:op.notes.append'] })
    expect(await say(hub, { text: 'rain' })).toEqual(text('new'))
    expect(hub.catalogue.tool('count')).toBe(before)
    expect(looked).toEqual(['count'])
  })

  it('leaves out what an op no longer fits or is no longer there for, and brings it back', async () => {
    const hub = await hubWith()
    hub.remove('ops.ts')
    expect(await hub.catalogue.reload()).toMatchObject({
      removed: ['tool:keep', 'op:op.notes.append'],
      rejected: [{ where: KEEP, field: 'op', mend: expect.stringContaining('registerOp') }],
    })
    expect(hub.agents.entry('worker').problems).toEqual([])
    await expect(hub.callAs('worker', 'keep', { text: 'x' })).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining('Its definition is wrong'),
    })
    hub.write('ops.ts', { ops: [append()] })
    expect(await hub.catalogue.reload()).toMatchObject({ added: ['tool:keep', 'op:op.notes.append'], rejected: [] })
    expect(hub.toolNamesFor('worker')).toEqual(['keep'])
  })
})

describe('an op', () => {
  it('is that of the earlier source where two have the same id', async () => {
    const hub = await createHub({
      units: {
        'a.ts': { ops: [append()] },
        'b.ts': { ops: [append({ handler: () => 'late' } as never)] },
        [KEEP]: file(),
      },
      agents,
    })
    expect(await say(hub, { text: 'rain' })).toEqual(text('inbox: rain  (worker)'))
    expect(hub.catalogue.problems()).toMatchObject([{ where: 'b.ts', subject: 'op:op.notes.append' }])
    expect([...hub.catalogue.current().ops.keys()]).toEqual(['op.notes.append'])
  })

  it.each<[string, Op, string]>([
    [
      'a wrong id',
      registerOp('notes.append', { short: 'x', handler: () => '' }),
      'id must look like "op.notes.append"',
    ],
    [
      'a field that there is not',
      append({ setings: {} } as never),
      'setings is not a field of an op. Did you mean "settings"?',
    ],
    ['an input that is no object', append({ input: { type: 'string' } }), 'input.type must be "object"'],
    ['a policy that there is not', append({ retry: 'often' as never }), 'retry'],
    ['a check that cannot be called', append({ check: 'x' as never }), 'check must be a function'],
  ])('with %s is left out, and told', async (_what, op, message) => {
    const hub = await createHub({ units: { 'a.ts': { ops: [op] } } })
    expect(hub.catalogue.current().ops.size).toBe(0)
    expect(messages(hub)).toEqual([expect.stringContaining(message)])
  })

  it('of the host program makes tools at once, and what was in the way is no problem any more', async () => {
    const hub = await createHub({ units: { [KEEP]: file() }, agents })
    expect(messages(hub)).toHaveLength(1)
    hub.catalogue.registerOp(append())
    expect(messages(hub)).toEqual([])
    expect(await say(hub, { text: 'rain' })).toEqual(text('inbox: rain  (worker)'))
    expect(() => hub.catalogue.registerOp(append())).toThrow('is taken by registered:op.notes.append')
    expect(() => hub.catalogue.registerOp({} as never)).toThrow('Make it with registerOp')
  })
})
