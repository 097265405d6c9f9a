import { expect, it } from 'vitest'
import type { ControlEvent, Events } from '../../contracts/index.ts'
import { createEmitter } from '../../core/kernel/index.ts'
import { createEventFeed } from './events.ts'

function feedFixture() {
  const emitter = createEmitter({ onError: () => {} })
  const events = createEventFeed({ emitter, clock: { now: () => 7 } })
  const follow = (organisation?: string) => {
    const received: ControlEvent[] = []
    const gone = new AbortController()
    const stream = organisation === undefined ? events.all : events.ofConsent(organisation)
    const ended = stream({}, { signal: gone.signal, onEvent: event => received.push(event) })
    return { received, gone, ended }
  }
  return { emitter, events, follow }
}

const caller = { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' } as const
const approval = { id: 'op_1', tool: 'send', organisation: 'default', agent: 'ada' }
const changed = (from: Events['operation.changed']['from'], to: Events['operation.changed']['to']) =>
  ({ id: 'op_1', tool: 'send', caller, from, to, at: 5, isTold: false }) as const

it('streams everything to the owner, and to persons the approvals and grants of their organisation', async () => {
  const { emitter, events, follow } = feedFixture()
  const [owner, eve, zoe] = [follow(), follow('default'), follow('acme')]
  emitter.emit('approval.opened', approval)
  emitter.emit('approval.answered', { ...approval, state: 'allowed', by: { name: 'eve', via: 'person' } })
  emitter.emit('operation.changed', changed('waitingForApproval', 'queued'))
  emitter.emit('operation.changed', changed('waitingForApproval', 'expired'))
  emitter.emit('operation.dropped', { id: 'op_1', tool: 'send', caller, at: 6 })
  emitter.emit('grants.revoked', { organisation: 'default', agent: 'ada', by: 'owner', count: 2 })
  const workspace = { organisation: 'default', id: 'ws_1', name: 'ada' }
  emitter.emit('presence.changed', { ...workspace, from: 'offline', to: 'online', at: 6 })
  const names = (received: readonly ControlEvent[]) => received.map(({ name }) => name)
  expect(names(eve.received)).toEqual([
    'events.started',
    'approval.opened',
    'approval.answered',
    'approval.closed',
    'grants.revoked',
  ])
  expect(names(zoe.received)).toEqual(['events.started'])
  expect(names(owner.received)).toEqual([
    'events.started',
    'approval.opened',
    'approval.answered',
    'operation.changed',
    'approval.closed',
    'operation.changed',
    'operation.dropped',
    'grants.revoked',
    'presence.changed',
  ])
  const presence = { organisation: 'default', id: 'ws_1', workspace: 'ada', from: 'offline', to: 'online', at: 6 }
  expect(owner.received.at(-1)).toEqual({ name: 'presence.changed', ...presence })
  events.stop()
  expect(await Promise.all([owner.ended, eve.ended])).toEqual([{}, {}])
})

it('announces a denied approval once', () => {
  const { emitter, follow } = feedFixture()
  const { received } = follow('default')
  emitter.emit('approval.answered', { ...approval, state: 'denied', by: { name: 'eve', via: 'person' } })
  emitter.emit('operation.changed', changed('waitingForApproval', 'denied'))
  expect(received.map(({ name }) => name)).toEqual(['events.started', 'approval.answered'])
})

it('announces the end of an approval whose answer was void', () => {
  const { emitter, follow } = feedFixture()
  const { received } = follow('default')
  emitter.emit('operation.changed', changed('waitingForApproval', 'queued'))
  expect(received.map(({ name }) => name)).toEqual(['events.started', 'approval.closed'])
})
