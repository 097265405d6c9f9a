import { describe, expect, it } from 'vitest'
import { agents, append, file, KEEP, messages, say, text } from '../../testing/declaration-fixture.ts'
import { createHub } from '../../testing/hub.ts'
import { type Op, registerOp } from './index.ts'

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
