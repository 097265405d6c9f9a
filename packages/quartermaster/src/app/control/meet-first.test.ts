import { expect, it } from 'vitest'
import type { Control, ControlOperation } from '../../contracts/index.ts'
import { type MeetFirstDeps, meetFirst } from './control-preload.ts'

const ON = { onProgress() {} }
const NAMES: ControlOperation[] = [
  ...([
    'tools',
    'tool',
    'call',
    'status',
    'doctor',
    'upstreams',
    'docs',
    'grant',
    'upstreamLogs',
    'reviewItems',
    'recheck',
  ] as const),
  ...(['removeUpstream', 'restartUpstream', 'audit'] as const),
]

const KNOWLEDGE = new Map([['release', {}]])
const SEEN = {
  unit: 'upstream:seen',
  leftOut: [{ name: 'changed', calledAs: 'seen_changed', reason: 'The server changed it.' }],
  gone: [{ name: 'gone', calledAs: 'seen_gone', reason: 'Its server does not list it any more.' }],
  unwanted: [{ name: 'unwanted', calledAs: 'seen_unwanted', reason: 'The owner leaves it out.' }],
}
const CAPABILITIES = new Map<string, object>([
  ['seen', SEEN],
  ['fresh', { unit: 'upstream:fresh', leftOut: [], unseen: 'It has not been reached yet.' }],
  ['own', { unit: 'capabilities/own.ts', leftOut: [{ name: 'own_wrong', reason: 'Its definition is wrong.' }] }],
])

const DEPENDENCIES = new Map([
  ['upstream-fresh', { unit: 'upstream:fresh' }],
  ['mail', { unit: 'capabilities/own.ts' }],
])
const GENERATION = {
  tools: new Map([['known', {}]]),
  capabilities: CAPABILITIES,
  knowledge: KNOWLEDGE,
  dependencies: DEPENDENCIES,
}

/** A control of a command, and what is done for it in which order. */
function desk() {
  const done: string[] = []
  const control = Object.fromEntries(NAMES.map(name => [name, async () => void done.push(name)])) as unknown as Control
  const deps = {
    core: { catalogue: { current: () => GENERATION } },
    meetAgain: async (name = 'all') => void done.push(`meet again ${name}`),
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

it('meets one for whoever wants its pages, gives it to an agent, or reviews it or what it said', async () => {
  const { control, done } = desk()
  await control.docs({ path: 'capability:fresh' }, ON)
  await control.docs({ path: 'fresh' }, ON)
  await control.docs({ path: 'tool:fresh_one' }, ON)
  await control.docs({ path: 'fresh_one' }, ON)
  await control.grant({ agent: 'ada', capability: 'fresh' }, ON)
  await control.upstreamLogs({ name: 'fresh' })
  await control.reviewItems({ name: 'fresh' }, ON)
  const pages = ['meet fresh', 'docs', 'meet fresh', 'docs', 'meet fresh_one', 'docs', 'meet fresh_one', 'docs']
  const others = ['meet fresh', 'grant', 'meet fresh', 'upstreamLogs', 'meet fresh', 'reviewItems']
  expect(done).toEqual([...pages, ...others])
})

it('meets for a second look only the server that it is about', async () => {
  const { control, done } = desk()
  for (const name of ['fresh', 'capability:fresh', 'upstream-fresh', 'dependency:upstream-fresh', 'tool:fresh'])
    await control.recheck({ name }, ON)
  expect(done.filter(one => one !== 'recheck')).toEqual(Array(5).fill('meet fresh'))
  done.length = 0
  for (const name of ['known', 'mail', 'dependency:mail', 'seen', 'capability:none', 'dependency:none'])
    await control.recheck({ name }, ON)
  expect(new Set(done)).toEqual(new Set(['recheck']))
})

it('asks the server again before it is said that a tool of it is held back or gone, and only that one', async () => {
  const { control, done } = desk()
  await control.call({ agent: 'ada', tool: 'seen_gone' })
  await control.tool({ name: 'seen_changed' })
  await control.call({ agent: 'ada', tool: 'own_wrong' })
  const asked = (tool: string, operation: string) => ['meet again seen', `meet ${tool}`, operation]
  const ours = ['meet own_wrong', 'call']
  expect(done).toEqual([...asked('seen_gone', 'call'), ...asked('seen_changed', 'tool'), ...ours])
})

it('does not ask a server again about a tool that the owner leaves out', async () => {
  const { control, done } = desk()
  await control.call({ agent: 'ada', tool: 'seen_unwanted' })
  expect(done).toEqual(['meet seen_unwanted', 'call'])
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

it('meets none for a page that is of no tool, whatever tools servers may have', async () => {
  const { control, done } = desk()
  for (const path of ['release', 'guides/release', 'guides/release.md', 'capability:seen', 'seen'])
    await control.docs({ path }, ON)
  expect(new Set(done)).toEqual(new Set(['docs']))
})

it('meets all for the one who looks for what is broken, also those that were seen before', async () => {
  const { control, done } = desk()
  await control.doctor({}, ON)
  expect(done).toEqual(['meet', 'meet again all', 'doctor'])
})

it('keeps no shell waiting that completes a word', async () => {
  const { control, done } = desk()
  await control.tools({})
  await control.upstreams({})
  await control.status({})
  await control.reviewItems({ name: 'fresh' })
  expect(done).toEqual(['tools', 'upstreams', 'status', 'reviewItems'])
})
