import { describe, expect, it } from 'vitest'
import type { CommandDecision } from '../../contracts/index.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'

const INPUT = {
  type: 'object',
  properties: { id: { type: 'string' }, note: { type: 'string' }, tags: { type: 'array' }, fast: { type: 'boolean' } },
  required: ['id'],
}

const tool = (name: string, command?: CommandDecision) =>
  simpleTool(name, { input: INPUT, ...(command ? { command } : {}) })

const unit = (key: string, ...tools: ReturnType<typeof tool>[]) => ({ capabilities: [simpleCapability(key, tools)] })

describe('the command of a tool', () => {
  it.each([
    [{ name: 'go', arguments: ['nots'] }, 'name "nots", which is no parameter. Did you mean "note"?'],
    [{ name: 'go', arguments: ['id', 'tags'] }, 'name "tags", which is no text, number or choice'],
    [{ name: 'go', arguments: ['id', 'id'] }, 'name "id" twice'],
    [{ name: 'go', arguments: ['note', 'id'] }, 'have "id", which is required, behind "note", which is not'],
  ])('%j is refused: %s', async (command, says) => {
    const hub = await createHub({ units: { 'a.ts': unit('main', tool('one', command)) } })
    expect(hub.catalogue.problems()).toEqual([
      expect.objectContaining({ subject: 'tool:one', message: expect.stringContaining(says) }),
    ])
    expect(hub.catalogue.current().tools.size).toBe(0)
  })

  it('stays with the first that has the word; the other has none, says why, and can be called', async () => {
    const hub = await createHub({
      units: { 'b.ts': unit('b', tool('second', { name: 'go' }), tool('third')) },
      builtin: { first: unit('a', tool('first', { name: 'go' })) },
      agents: { worker: { capabilities: { b: {} } } },
    })
    expect([...hub.catalogue.current().tools.values()].map(({ name, command }) => [name, command])).toEqual([
      ['first', { name: 'go' }],
      ['second', { none: 'The word "go" is taken by another tool.' }],
      ['third', { name: 'third' }],
    ])
    expect(hub.catalogue.problems()).toEqual([
      expect.objectContaining({
        severity: 'warning',
        where: 'b.ts',
        subject: 'tool:second',
        field: 'command',
        fix: expect.stringContaining('quartermaster call second'),
      }),
    ])
    expect((await hub.callAs('worker', 'second', { id: 'x' })).result.isError).toBeFalsy()
    hub.write('b.ts', unit('b', tool('second', { name: 'run' })))
    expect(await hub.catalogue.reload()).toMatchObject({ rejected: [] })
    expect(hub.catalogue.problems()).toEqual([])
  })

  it('may be shared by tools that a flag tells apart, and not by such as it does not', async () => {
    const hub = await createHub({
      units: {
        'a.ts': unit(
          'a',
          tool('now', { name: 'go' }),
          tool('later', { name: 'go', flag: 'async' }),
          tool('also_later', { name: 'go', flag: 'async' }),
          tool('faster', { name: 'go', flag: 'fast' }),
          tool('by_note', { name: 'run', flag: 'note' }),
          tool('slowly', { name: 'run', flag: 'slow' }),
        ),
      },
    })
    const without = [...hub.catalogue.current().tools.values()].filter(({ command }) => 'none' in command)
    expect(without.map(({ name, command }) => [name, command])).toEqual([
      ['also_later', { none: 'The word "go --async" is taken by another tool.' }],
      ['faster', { none: 'Its flag "--fast" is an option of another tool, "go".' }],
      ['slowly', { none: 'Its option "--note" is the flag of another tool, "run --note".' }],
    ])
  })

  it('is missing without a word of warning where nobody here chose it', async () => {
    const hub = await createHub({ kind: 'upstream', units: { far: unit('far', tool('a_b'), tool('aB'), tool('a-b')) } })
    expect(hub.catalogue.problems().filter(({ field }) => field === 'command')).toEqual([])
    const commands = [...hub.catalogue.current().tools.values()].map(({ command }) => command)
    expect(commands).toEqual([{ name: 'a-b' }, { name: 'ab' }, { none: 'The word "a-b" is taken by another tool.' }])
  })
})
