import { expect, it } from 'vitest'
import { DelegationState } from '../../contracts/index.ts'
import { DELEGATION_EVENTS, isOpen, nextStep } from './index.ts'

const ALLOWED: Readonly<Record<string, string>> = {
  'queued promote': 'pending',
  'queued fail': 'failed',
  'queued cancel': 'cancelled',
  'queued expire': 'expired',
  'queued archive': 'failed',
  'pending take': 'in_progress',
  'pending progress': 'in_progress',
  'pending complete': 'completed',
  'pending fail': 'failed',
  'pending cancel': 'cancelled',
  'pending expire': 'expired',
  'pending archive': 'failed',
  'in_progress progress': 'in_progress',
  'in_progress handBack': 'in_progress',
  'in_progress complete': 'completed',
  'in_progress fail': 'failed',
  'in_progress cancel': 'cancelled',
  'in_progress expire': 'expired',
  'in_progress archive': 'failed',
}

it('goes where the table says, for every state and every event, and nowhere else', () => {
  for (const state of DelegationState.options)
    for (const event of DELEGATION_EVENTS) {
      const to = ALLOWED[`${state} ${event}`]
      const refused = { refused: isOpen(state) ? 'unfit' : 'ended' }
      expect(nextStep(state, event), `${state} ${event}`).toEqual(to === undefined ? refused : { to })
    }
})

it('never leaves an end, and can be ended from wherever it is open', () => {
  const open = DelegationState.options.filter(isOpen)
  expect(open).toEqual(['pending', 'queued', 'in_progress'])
  for (const state of open)
    for (const event of ['cancel', 'expire', 'archive', 'fail'] as const)
      expect(nextStep(state, event)).toHaveProperty('to')
})
