import { describe, expect, it } from 'vitest'
import { defineEffect } from '../../catalogue/index.ts'
import { customKind, kindsFor } from '../index.ts'

const VALUES = { input: { id: 7, list: 'home' }, config: {}, operationId: 'op_1' }
const SIGNAL = new AbortController().signal

describe('a kind of effect that a capability defines', () => {
  const ticket = customKind(
    defineEffect({
      kind: 'ticketOpened',
      fields: ['id', 'list'],
      look: ({ id, list }) => ({ seen: id === 7 ? 'there' : 'absent', mark: `${list}` }),
    }),
  )

  it('looks for what its filled fields say', async () => {
    const spec = { name: 'ticket', kind: 'ticketOpened', id: '{input.id}', list: 'my {input.list}' }
    expect(ticket.check(spec)).toEqual([])
    const effect = ticket.concrete(spec, VALUES)
    expect(effect.fields).toEqual({ id: 7, list: 'my home' })
    expect(await ticket.look(effect, { signal: SIGNAL })).toEqual({ seen: 'there', mark: 'my home' })
  })

  it('says what is wrong with a spec: missing and misspelled fields, bad placeholders', () => {
    const problems = ticket.check({ name: 'ticket', kind: 'ticketOpened', id: '{input}', lits: 'a' })
    expect(problems.join('\n')).toContain('"lits" is not a field of ticketOpened. Did you mean "list"?')
    expect(problems.join('\n')).toContain('list fits none of the allowed forms.')
    expect(problems.join('\n')).toContain('id: {input} is no valid placeholder')
  })

  it('may answer yes or no, and be proved by absence', async () => {
    const gone = customKind({ kind: 'ticketGone', witness: 'absence', look: () => false })
    expect(gone.witness).toBe('absence')
    expect(await gone.look({ name: 'a', kind: 'ticketGone', fields: {} }, { signal: SIGNAL })).toEqual({
      seen: 'absent',
    })
  })

  it('is for the tools of its capability, and never replaces a built-in one', () => {
    const ready = customKind({ kind: 'fileWritten', look: () => true })
    const kinds = new Map([['fileWritten', ready]])
    expect(kindsFor(kinds, { effectKinds: [] })).toBe(kinds)
    const all = kindsFor(kinds, {
      effectKinds: [
        { kind: 'fileWritten', look: () => false },
        { kind: 'mine', look: () => true },
      ],
    })
    expect([...all.keys()].sort()).toEqual(['fileWritten', 'mine'])
    expect(all.get('fileWritten')).toBe(ready)
  })
})
