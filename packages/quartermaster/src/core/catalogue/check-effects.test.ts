import { describe, expect, it } from 'vitest'
import { createEffectKinds } from '../../adapters/effects/index.ts'
import type { EffectSpec } from '../../contracts/index.ts'
import { createHub } from '../../testing/hub.ts'
import { defineCapability, defineEffect, defineTool, type EffectDefinition } from './index.ts'

const look = (): boolean => true

const effectKinds = createEffectKinds({ projectDir: '/project', connections: { get: () => undefined } })

/** What is wrong with a tool that has these effects, and whether it is there. */
async function load(effects: readonly EffectSpec[], own?: readonly EffectDefinition[]) {
  const tool = defineTool({
    name: 'write',
    short: 'Writes.',
    input: { type: 'object', properties: { path: { type: 'string' }, note: { type: 'string' } }, required: ['path'] },
    idempotent: true,
    effects,
    handler: () => 'done',
  })
  const capability = defineCapability({ key: 'main', short: 'Main.', tools: [tool], ...(own && { effectKinds: own }) })
  const hub = await createHub({ units: { 'a.ts': { capabilities: [capability] } }, effectKinds })
  const problems = hub.catalogue.problems().map(({ field, message }) => ({ field, message }))
  const loaded = hub.catalogue.current().tools.get('write')
  await hub.stop()
  return { problems, loaded }
}

describe('effects of a definition', () => {
  it('are loaded when something can look for them', async () => {
    const { problems, loaded } = await load([{ name: 'note', kind: 'fileWritten', path: '{input.path}' }])
    expect(problems).toEqual([])
    expect(loaded?.effects).toEqual([{ name: 'note', kind: 'fileWritten', path: '{input.path}' }])
  })

  it.each([
    ['an unknown field', { path: 'a', contians: 'b' }, 'Did you mean "contains"?'],
    ['a missing field', {}, 'path'],
    ['a bad template', { path: '{inptu.path}' }, 'begins with none of'],
    ['an input that is not there', { path: '{input.pth}' }, 'Did you mean "path"?'],
    ['an input that may be missing', { path: '{input.note}' }, 'may be missing'],
    ['a folder from the input', { path: 'a', within: '{input.path}' }, 'is not for this field'],
    ['two witnesses', { path: 'a', contains: 'b', sha256: 'c' }, 'two witnesses'],
  ])('are refused with %s, by their name', async (_what, fields, message) => {
    const { problems, loaded } = await load([{ name: 'note', kind: 'fileWritten', ...fields }])
    expect(problems).toContainEqual({ field: 'effects.note', message: expect.stringContaining(message) as string })
    expect(loaded).toBeUndefined()
  })

  it('are refused when the kind is unknown, a name stands twice, or there are too many', async () => {
    const file = (name: string): EffectSpec => ({ name, kind: 'fileWritten', path: 'a' })
    const text = async (effects: EffectSpec[]) => (await load(effects)).problems.map(({ message }) => message).join()
    expect(await text([{ name: 'a', kind: 'fileWriten' }])).toContain('Did you mean "fileWritten"?')
    expect(await text([file('a'), file('a')])).toContain('has two with the name "a"')
    expect(await text(Array.from({ length: 21 }, (_, at) => file(`a${at}`)))).toContain('at most 20')
  })

  it('may be of a kind that the capability brings', async () => {
    const own = defineEffect({ kind: 'ticketOpened', fields: ['id'], look })
    const spec = { name: 'ticket', kind: 'ticketOpened', id: '{input.path}' }
    const { problems, loaded } = await load([spec], [own])
    expect(problems).toEqual([])
    expect(loaded?.effectKinds).toEqual([own])
    expect((await load([{ ...spec, id: '{input.pth}' }], [own])).problems).toMatchObject([{ field: 'effects.ticket' }])
  })

  it.each([
    ['the name of a ready-made kind', { kind: 'httpState', look }],
    ['no look', { kind: 'mine' } as never],
    ['a field that every effect has', { kind: 'mine', fields: ['name'], look }],
    ['an unknown field', { kind: 'mine', look, witnes: 'absence' } as never],
    ['no object', 'mine' as never],
  ])('may not be of an own kind with %s', async (_what, own) => {
    const { problems, loaded } = await load([], [own])
    expect(problems.map(({ field }) => field)).toContainEqual(expect.stringContaining('effectKinds'))
    expect(loaded).toBeUndefined()
  })
})
