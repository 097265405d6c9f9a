import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { agents, append, file, hubWith, KEEP, say, text } from '../../testing/declaration-fixture.ts'
import { createHub, DOWN, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import { defineDependency, registerOp } from './index.ts'

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
