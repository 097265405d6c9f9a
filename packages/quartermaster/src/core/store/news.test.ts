import { describe, expect, it } from 'vitest'
import { activity, auditLine, operation, token } from '../../testing/store-contract/stage.ts'
import { insert, insertNext, mustExist, newsOf, remove, update } from './index.ts'

const step = (from: 'leased' | 'queued' | 'waitingForApproval', set: object) =>
  update('operations', { where: { id: 'o', state: from, fence: 1 }, set })

describe('what others are told of a commit', () => {
  it('is nothing of a call that is begun and answered where it was made', () => {
    const begun = [insert('operations', operation('o', { state: 'leased' })), insert('audit', auditLine('a'))]
    const ended = step('leased', { state: 'succeeded', updatedAt: 5, tellAt: 15_005 })
    const renewed = update('operations', { where: { id: { in: ['o'] } }, set: { leaseUntil: 9 }, rows: 'any' })
    const told = update('operations', {
      where: { id: 'o', tellAt: 5 },
      set: { tellAt: null, announcedAt: 6 },
      rows: 'any',
    })
    expect(newsOf([...begun, ended, renewed, told, mustExist('tokens', { id: 't' })])).toEqual([])
  })

  it.each([
    ['one that waits', insert('operations', operation('o', { state: 'waitingForApproval' }))],
    ['one that is due', step('waitingForApproval', { state: 'queued', updatedAt: 5 })],
    ['one that nobody allowed', step('waitingForApproval', { state: 'denied', updatedAt: 5, tellAt: 15_005 })],
    ['an end that nobody waited for', step('leased', { state: 'succeeded', updatedAt: 5, tellAt: 5 })],
    ['one that is to stop', step('leased', { cancelRequestedAt: 5 })],
  ])('is which operation it was: %s', (_what, write) => {
    expect(newsOf([write])).toEqual([{ table: 'operations', ids: ['o'] }])
  })

  it('is whose log has something new, and from whose inbox something was taken out or is free again', () => {
    const log = { column: 'sequence', within: ['workspaceId'] } as const
    const sent = insertNext('activity', activity('a', { workspaceId: 'w' }), log)
    const leased = update('inbox', { where: { workspaceId: 'w' }, set: { leaseUntil: 5 }, rows: 'any' })
    const pruned = remove('activity', { where: { id: { in: ['a'] } }, rows: 'any' })
    const popped = remove('inbox', { where: { workspaceId: 'w', id: 'a' }, rows: 'any' })
    expect(newsOf([sent, leased, pruned])).toEqual([{ table: 'activity', ids: ['w'] }])
    const free = { leaseOwner: null, leaseUntil: null }
    const late = update('inbox', { where: { workspaceId: 'w', leaseUntil: { above: 5 } }, set: free, rows: 'any' })
    const left = update('inbox', { where: { workspaceId: 'w', leaseOwner: 'r' }, set: free, rows: 'any' })
    expect(newsOf([late])).toEqual([])
    for (const write of [popped, left]) expect(newsOf([write])).toEqual([{ table: 'inbox', ids: ['w'] }])
  })

  it('is each row once, or that it may be any', () => {
    const tokens = [
      insert('tokens', token('a')),
      update('tokens', { where: { id: { in: ['a', 'b'] } }, set: {}, rows: 'any' }),
    ]
    expect(newsOf(tokens)).toEqual([{ table: 'tokens', ids: ['a', 'b'] }])
    expect(newsOf([...tokens, remove('tokens', { where: { workspace: 'w' } }), ...tokens])).toEqual([
      { table: 'tokens', ids: 'any' },
    ])
  })
})
