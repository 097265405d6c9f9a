import { expect, it } from 'vitest'
import type { Control, ControlOperation } from '../contracts/index.ts'
import { type MeetFirstDeps, meetFirst } from './meet-first.ts'

const ON = { onProgress() {} }
const NAMES: ControlOperation[] = [
  ...(['tools', 'tool', 'call', 'status', 'upstreams', 'docs', 'grant', 'upstreamLogs'] as const),
  ...(['removeUpstream', 'restartUpstream', 'audit'] as const),
]

const CAPABILITIES = new Map([
  ['seen', {}],
  ['fresh', { unseen: 'It has not been reached yet.' }],
])

/** A control of a command, and what is done for it in which order. */
function desk() {
  const done: string[] = []
  const control = Object.fromEntries(NAMES.map(name => [name, async () => void done.push(name)])) as unknown as Control
  const deps = {
    core: { catalogue: { current: () => ({ tools: new Map([['known', {}]]), capabilities: CAPABILITIES }) } },
    meet: async (only = {}) => void done.push(['meet', ...Object.values(only)].join(' ')),
  } as unknown as MeetFirstDeps
  return { control: meetFirst(control, deps), done }
}

it('meets all for whoever asks for all there is, and for a tool that is not there only those that may have it', async () => {
  const { control, done } = desk()
  await control.tools({}, ON)
  await control.status({}, ON)
  await control.docs({ query: 'how to begin' }, ON)
  await control.tool({ name: 'new_one' })
  await control.call({ agent: 'ada', tool: 'new_one' })
  const ofAll = ['meet', 'tools', 'meet', 'status', 'meet', 'docs']
  expect(done).toEqual([...ofAll, 'meet new_one', 'tool', 'meet new_one', 'call'])
})

it('meets one for whoever wants its pages, gives it to an agent, or reads what it said', async () => {
  const { control, done } = desk()
  await control.docs({ path: 'capability:fresh' }, ON)
  await control.docs({ path: 'tool:fresh_one' }, ON)
  await control.grant({ agent: 'ada', capability: 'fresh' }, ON)
  await control.upstreamLogs({ name: 'fresh' })
  const pages = ['meet fresh', 'docs', 'meet fresh_one', 'docs']
  expect(done).toEqual([...pages, 'meet fresh', 'grant', 'meet fresh', 'upstreamLogs'])
})

it('meets none for a tool that is there, nor for what has nothing to do with them', async () => {
  const { control, done } = desk()
  await control.tool({ name: 'known' })
  await control.call({ agent: 'ada', tool: 'known' }, ON)
  await control.removeUpstream({ name: 'hanging' }, ON)
  await control.restartUpstream({ name: 'other' }, ON)
  await control.audit({}, ON)
  await control.docs({ query: 'known' }, ON)
  await control.grant({ agent: 'ada', capability: 'seen' }, ON)
  expect(done).toEqual(['tool', 'call', 'removeUpstream', 'restartUpstream', 'audit', 'docs', 'grant'])
})

it('keeps no shell waiting that completes a word', async () => {
  const { control, done } = desk()
  await control.tools({})
  await control.upstreams({})
  await control.status({})
  expect(done).toEqual(['tools', 'upstreams', 'status'])
})
