import { expect, it } from 'vitest'
import { SWITCHED_OFF } from '../../adapters/mcp-upstream/index.ts'
import { type DependencyStatus, UpstreamConfig, type UpstreamStatus } from '../../contracts/index.ts'
import { createHub, simpleCapability, simplePrompt, simpleTool } from '../../testing/hub.ts'
import { status } from '../../testing/upstream-fixture.ts'
import { asHealthDecided, asUpstreams, dependencyOptionsIn, withOffered, withSteps } from './upstream-status.ts'

const LOGS = 'See what it says: quartermaster logs crm'
const LOGIN = 'Sign in: quartermaster login crm'
const START = 'Have it started: quartermaster upstreams restart crm, or: quartermaster up'
const WRONG = 'Its entry in the configuration is wrong: no "url". `quartermaster doctor` says where.'

/** A dependency with this state and reason, once the status of its upstream is applied. */
function applied(upstream: Partial<UpstreamStatus>, reason: string, state: DependencyStatus['state'] = 'down') {
  const known: DependencyStatus = { name: 'upstream-crm', state, reason, since: 0, dependsOn: [], fix: LOGS }
  const [found = known] = asUpstreams([known], [{ name: 'crm', ...upstream } as UpstreamStatus])
  return [found.state, found.reason, found.fix]
}

it('shows the next step of an upstream, and names a log only where something was written', () => {
  const off = { state: 'off', reason: SWITCHED_OFF } as const
  expect(applied(off, 'It was stopped.')).toEqual(['optedOut', SWITCHED_OFF, undefined])
  expect(applied({ state: 'off', reason: WRONG }, 'It was stopped.')).toEqual(['down', WRONG, undefined])
  const login = applied({ state: 'needsLogin' }, `It lets nobody in. ${LOGIN} --agent bob`)
  expect(login).toEqual(['down', 'It lets nobody in.', `${LOGIN} --agent bob`])
  expect(applied({ state: 'down', hasSpoken: true }, 'It ended.')).toEqual(['down', 'It ended.', LOGS])
  expect(applied({ state: 'down' }, 'It ended.')).toEqual(['down', 'It ended.', undefined])
})

it('calls no upstream up or recovering that has never answered', () => {
  const starting = { state: 'starting', unseen: START } as const
  expect(applied(starting, 'It has not answered yet.', 'up')).toEqual(['unknown', 'It has not answered yet.', START])
  expect(applied({ ...starting, unseen: undefined }, '', 'up')[0]).toBe('up')
  expect(applied({ state: 'down', unseen: START }, 'It ended.', 'recovering')).toEqual(['down', 'It ended.', START])
  expect(applied({ state: 'down' }, 'It ended.', 'recovering')[0]).toBe('recovering')
})

it('counts an upstream as switched off only if its valid entry says so', () => {
  const url = 'https://crm.example.com/mcp'
  const project = {
    dependencyOptions: () => ({ watchIntervalSeconds: 5 }),
    upstreams: () =>
      new Map<string, UpstreamConfig>([
        ['off', UpstreamConfig.parse({ url, enabled: false })],
        ['on', UpstreamConfig.parse({ url })],
        ['wrong', { ...UpstreamConfig.parse({ url, enabled: false }), wrong: WRONG }],
      ]),
  }
  const isOff = (name: string) => dependencyOptionsIn(project, name).enabled === false
  expect(['upstream-off', 'upstream-on', 'upstream-wrong', 'off'].map(isOff)).toEqual([true, false, false, false])
})

const ENDED = 'It ended with exit code 7.'
const FLAPS = 'It answers again, but it went away 4 times of late: 1 of 3 good probes, over 5 s at least.'
const ABOUT = 'It answers, and its tools are about to be there.'

it.each([
  ['down', { state: 'recovering', reason: ENDED, since: 40 }, { state: 'recovering', reason: ENDED, since: 40 }],
  ['up', { state: 'down', reason: FLAPS, since: 40 }, { state: 'down', reason: FLAPS, since: 40 }],
  ['up', { state: 'down', reason: ENDED, since: 5, checkedAt: 10 }, { state: 'starting', reason: ABOUT, since: 10 }],
  ['up', { state: 'down', reason: ENDED, since: 5, checkedAt: 11 }, { state: 'down', reason: ENDED, since: 5 }],
  ['needsLogin', { state: 'down', reason: ENDED, since: 40 }, { state: 'needsLogin', reason: ENDED, since: 10 }],
] as const)(
  'shows an upstream whose connection is %s with the state that health decides: %j',
  (state, health, shown) => {
    const upstream = { name: 'crm', state, reason: ENDED, since: 10 } as UpstreamStatus
    expect(asHealthDecided([upstream], [{ name: 'upstream-crm', ...health }])).toMatchObject([shown])
  },
)

it('counts the definitions that agents have, and explains a name that is taken', async () => {
  const { catalogue } = await createHub({
    kind: 'upstream',
    builtin: { 'builtin:files': { capabilities: [simpleCapability('files', [simpleTool('list')])] } },
    units: {
      'upstream:notes': {
        capabilities: [simpleCapability('notes', [simpleTool('note')], { prompts: [simplePrompt('greet')] })],
      },
      'upstream:files': { capabilities: [simpleCapability('files', [simpleTool('read')])] },
    },
  })
  const statuses = ['notes', 'files', 'new'].map(name => ({ ...status(name, 'up'), prompts: 1 }))
  const shown = withOffered(statuses, catalogue.current(), catalogue.problems())
  expect(shown).toMatchObject([
    { name: 'notes', tools: { offered: 1 }, prompts: 1 },
    {
      name: 'files',
      tools: { offered: 0 },
      prompts: 0,
      clashes: [
        expect.stringMatching(/^The capability name "files" is taken by builtin:files .* another key than "files"/),
      ],
    },
    { name: 'new', tools: { offered: 0 }, prompts: 0 },
  ])
})

it('gives the owner the next step for each upstream that is missing in a prompt', () => {
  const missing = { capability: 'crm', reason: 'It has not been reached yet.' }
  const other = { capability: 'own', reason: 'Not yet.' }
  const made = { agent: 'a', text: '', estimatedTokens: 0, tools: [], unseen: [missing, other] }
  const unseen = [{ name: 'crm', reason: 'It ended with exit code 3', fix: LOGS }]
  expect(withSteps(made, unseen).unseen).toEqual([
    { capability: 'crm', reason: `It ended with exit code 3. ${LOGS}` },
    other,
  ])
})
