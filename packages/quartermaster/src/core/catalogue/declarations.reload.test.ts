import { describe, expect, it } from 'vitest'
import { agents, append, type Front, file, hubWith, KEEP, say, text } from '../../testing/declaration-fixture.ts'
import { createHub } from '../../testing/hub.ts'
import { registerOp } from './index.ts'

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
  ])('keeps the last good version of one that %s, until it is fixed', async (_what, front) => {
    const hub = await hubWith()
    hub.write(KEEP, file(front))
    const { rejected } = await hub.catalogue.reload()
    expect(rejected[0]).toMatchObject({
      where: KEEP,
      fix: expect.stringContaining('The last good version stays in use.'),
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
      rejected: [{ where: KEEP, field: 'op', fix: expect.stringContaining('registerOp') }],
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
