import { describe, expect, it } from 'vitest'
import { agents, append, type Front, file, hubWith, KEEP, messages } from '../../testing/declaration-fixture.ts'
import { createHub, simpleCapability } from '../../testing/hub.ts'
import { type OpDefinition } from './index.ts'

describe('a wrong declaration', () => {
  it.each<[string, Front, string]>([
    ['has no version', { schema: undefined }, 'schema is needed.'],
    ['is of another version', { schema: 2 }, 'schema is 2, and declarations are read in version 1 here.'],
    [
      'names an op that nobody has',
      { op: 'op.notes.apend' },
      'op "op.notes.apend" is not registered. Did you mean "op.notes.append"?',
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
      'parameters.text.default must have at most 2 characters.',
    ],
    [
      'has settings that the op has not',
      { with: { nota: 'x' } },
      'with.nota is no setting of "op.notes.append". Did you mean "note"?',
    ],
    [
      'has settings that are nothing like those of the op',
      { with: { command: 'x' } },
      'with.command is no setting of "op.notes.append". It has note.',
    ],
    ['has an empty title', { title: '' }, 'title must not be empty.'],
    ['has a list of parameters', { parameters: [] }, 'parameters must be an object, not an array.'],
    ['has a policy that there is not', { retry: 'often' }, 'retry must be "manual" or "replay" or "verifyFirst".'],
    [
      'has a name that nothing can have',
      { parameters: JSON.parse('{"text":{},"__proto__":{}}') },
      'parameters.__proto__ is a name that nothing can have.',
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
      with: { colour: 'red', note: 7 },
      examples: [{ query: 'x', input: { y: 1 } }],
      requires: ['nothing'],
      consent: ['no.one'],
    })
    expect(hub.catalogue.problems().map(({ field }) => field)).toEqual([
      'with.colour',
      'with.note',
      'parameters.moods',
      'fixed.times',
      'parameters.text',
      expect.stringContaining('examples.0.input'),
      'requires',
      'consent',
    ])
  })

  it('needs a folder or a section, and a name that a tool can have', async () => {
    const hub = await createHub({ units: { 'ops.ts': { ops: [append()] }, 'knowledge/zwölf.md': file({}, 'zwölf') } })
    expect(hub.catalogue.problems().map(({ field }) => field)).toEqual(['name', 'section'])
    hub.write('knowledge/bad/index.md', file({}, 'bad'))
    await hub.catalogue.reload()
    expect(messages(hub).join('\n')).toContain('"index.md" is the page of its folder')
  })

  it.each<[string, Front]>([
    ['by itself', { timeoutSeconds: 'long' }],
    ['with its op', { timeoutSeconds: 2 }],
  ])('is told with its line, where it is wrong %s', async (_what, front) => {
    const [written] = file({ ...front }).written
    const lines = { body: 9, fields: { op: 3, timeoutSeconds: 5 } }
    const units = { 'ops.ts': { ops: [append({ timeoutMs: 1000 })] }, [KEEP]: file() }
    const hub = await createHub({ units, agents })
    hub.write(KEEP, { written: [{ ...written, lines } as never] })
    const { rejected } = await hub.catalogue.reload()
    expect(rejected).toMatchObject([{ where: `${KEEP}:5`, fix: expect.stringContaining('last good version') }])
    expect(hub.toolNamesFor('worker')).toEqual(['keep'])
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
