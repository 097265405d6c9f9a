import { expect, it } from 'vitest'
import type { ControlEvent, Events } from '../../contracts/index.ts'
import { createEmitter } from '../../core/kernel/index.ts'
import { createEventFeed } from './events.ts'

function feed() {
  const emitter = createEmitter({ onError: () => {} })
  const events = createEventFeed({ emitter, clock: { now: () => 7 } })
  const follow = (organisation?: string) => {
    const heard: ControlEvent[] = []
    const gone = new AbortController()
    const told = organisation === undefined ? events.all : events.ofConsent(organisation)
    const ended = told({}, { signal: gone.signal, onEvent: event => heard.push(event) })
    return { heard, gone, ended }
  }
  return { emitter, events, follow }
}

const caller = { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' } as const
const asked = { id: 'op_1', tool: 'send', organisation: 'default', agent: 'ada' }
const changed = (from: Events['operation.changed']['from'], to: Events['operation.changed']['to']) =>
  ({ id: 'op_1', tool: 'send', caller, from, to, at: 5, isTold: false }) as const

it('tells the owner of all, and persons of what is asked, answered and taken back in their organisation', async () => {
  const { emitter, events, follow } = feed()
  const [owner, eve, zoe] = [follow(), follow('default'), follow('acme')]
  emitter.emit('approval.opened', asked)
  emitter.emit('approval.answered', { ...asked, state: 'allowed', by: { name: 'eve', via: 'person' } })
  emitter.emit('operation.changed', changed('waitingForApproval', 'queued'))
  emitter.emit('operation.changed', changed('waitingForApproval', 'expired'))
  emitter.emit('operation.dropped', { id: 'op_1', tool: 'send', caller, at: 6 })
  emitter.emit('grants.revoked', { organisation: 'default', agent: 'ada', by: 'owner', count: 2 })
  const seat = { organisation: 'default', id: 'ws_1', name: 'ada' }
  emitter.emit('presence.changed', { ...seat, from: 'offline', to: 'online', at: 6 })
  const names = (heard: readonly ControlEvent[]) => heard.map(({ name }) => name)
  expect(names(eve.heard)).toEqual([
    'events.started',
    'approval.opened',
    'approval.answered',
    'approval.closed',
    'grants.revoked',
  ])
  expect(names(zoe.heard)).toEqual(['events.started'])
  expect(names(owner.heard)).toEqual([
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
  const told = { organisation: 'default', id: 'ws_1', workspace: 'ada', from: 'offline', to: 'online', at: 6 }
  expect(owner.heard.at(-1)).toEqual({ name: 'presence.changed', ...told })
  events.stop()
  expect(await Promise.all([owner.ended, eve.ended])).toEqual([{}, {}])
})

it.each(['unknown', 'succeeded', 'denied'] as const)('tells a no once, also where it ends as %s', to => {
  const { emitter, follow } = feed()
  const { heard } = follow('default')
  emitter.emit('approval.answered', { ...asked, state: 'denied', by: { name: 'eve', via: 'person' } })
  emitter.emit('operation.changed', changed('waitingForApproval', to))
  expect(heard.map(({ name }) => name)).toEqual(['events.started', 'approval.answered'])
})

it('tells that a request is over whose answer was void', () => {
  const { emitter, follow } = feed()
  const { heard } = follow('default')
  emitter.emit('operation.changed', changed('waitingForApproval', 'queued'))
  expect(heard.map(({ name }) => name)).toEqual(['events.started', 'approval.closed'])
})

it('tells nothing more to who has gone', async () => {
  const { emitter, follow } = feed()
  const { heard, gone, ended } = follow()
  gone.abort()
  await ended
  emitter.emit('approval.opened', asked)
  expect(heard).toHaveLength(1)
})
