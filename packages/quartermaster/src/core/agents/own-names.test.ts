import { describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../contracts/index.ts'
import { createHub, fakeService, simpleCapability, simpleResource, simpleTool } from '../../testing/hub.ts'
import type { CapabilityDefinition, CapabilityResolver } from '../catalogue/index.ts'
import type { MountRequest } from './index.ts'

const issues = simpleTool('github_issues', { ownName: 'issues' })
const merge = simpleTool('github_merge', { ownName: 'pull.merge' })

const unitWith = (tools: readonly ReturnType<typeof simpleTool>[], more: Partial<CapabilityDefinition> = {}) => ({
  capabilities: [simpleCapability('github', tools, more)],
})

async function hubWith(agent: AgentConfig['capabilities'], more: Partial<CapabilityDefinition> = {}) {
  const hub = await createHub({
    kind: 'upstream',
    units: { github: unitWith([issues, merge], more) },
    agents: { coder: { capabilities: agent } },
  })
  const report = () => hub.agents.session('coder').view().report()
  const problems = () => hub.agents.problems('coder').map(({ message }) => message)
  return { hub, report, problems }
}

describe('a tool whose capability calls it something else than the gateway', () => {
  it('is listed in an allowlist by its own name and called by the other', async () => {
    const { hub, report } = await hubWith({ github: { tools: ['pull.merge'] } })
    expect(hub.toolNamesFor('coder')).toEqual(['github_merge'])
    expect(report()).toEqual([{ capability: 'github', tool: 'pull.merge', calledAs: 'github_merge', state: 'granted' }])
    const { result } = await hub.callAs('coder', 'github_merge')
    expect(result.content).toEqual([{ type: 'text', text: 'github_merge' }])
    await expect(hub.callAs('coder', 'pull.merge')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })

  it('is told by its own name to whoever lists it by the other', async () => {
    const { hub, problems } = await hubWith({ github: { tools: ['github_merge'] } })
    expect(hub.toolNamesFor('coder')).toEqual([])
    expect(problems()).toEqual([
      'Capability "github" has no tool "github_merge". Here it is listed as its server calls it: "pull.merge".',
    ])
  })

  it('is discovered by both names', async () => {
    const { hub } = await hubWith({ github: {} })
    expect(hub.registry.knownCapabilities()[0]?.tools).toMatchObject([
      { name: 'issues', calledAs: 'github_issues' },
      { name: 'pull.merge', calledAs: 'github_merge' },
    ])
  })

  it('is reported by its own name when it does not work', async () => {
    const service = fakeService('github', { up: false, reason: 'gone' })
    const { hub, report } = await hubWith({ github: {} }, { requires: ['github'], dependencies: [service.dependency] })
    await hub.health.probeNew()
    expect(report().map(({ tool, state }) => [tool, state])).toEqual([
      ['issues', 'unavailable'],
      ['pull.merge', 'unavailable'],
    ])
  })

  it('reaches its resolver by its own name', async () => {
    const seen: unknown[] = []
    const resolve = (_context: unknown, { tools }: { tools: readonly string[] }) => {
      seen.push(tools)
      return {}
    }
    const { hub } = await hubWith({ github: { tools: ['issues'] } }, { resolve })
    hub.toolNamesFor('coder')
    expect(seen.at(-1)).toEqual(['issues'])
  })
})

describe('a tool that is held back', () => {
  const withheld = [{ name: 'delete_repo', reason: 'It waits for review: quartermaster upstreams review github' }]
  const held = {
    capability: 'github',
    tool: 'delete_repo',
    state: 'unavailable',
    reason: 'It waits for review: quartermaster upstreams review github',
  }

  it.each([{ tools: ['issues', 'delete_repo'] }, {}])(
    'is unavailable with its reason, not an error: %o',
    async config => {
      const { hub, report, problems } = await hubWith({ github: config }, { withheld })
      expect(problems()).toEqual([])
      expect(hub.toolNamesFor('coder')).toContain('github_issues')
      expect(report()).toContainEqual(held)
    },
  )

  it('is told beside what the agent has, by the name it would be called by', async () => {
    const called = withheld.map(one => ({ ...one, calledAs: 'github_delete_repo' }))
    const { hub } = await hubWith({ github: {} }, { withheld: called })
    expect(hub.agents.session('coder').view().facts().withheld).toEqual([
      { tool: 'github_delete_repo', capability: 'github', reason: held.reason },
    ])
    const other = await hubWith({ github: { tools: ['issues'] } }, { withheld: called })
    expect(other.hub.agents.session('coder').view().facts()).not.toHaveProperty('withheld')
  })

  it('comes to those who list it as soon as it is offered, without anybody editing a file', async () => {
    const { hub, report } = await hubWith({ github: { tools: ['delete_repo'] } }, { withheld })
    expect(hub.toolNamesFor('coder')).toEqual([])
    hub.write('github', unitWith([issues, merge, simpleTool('github_delete_repo', { ownName: 'delete_repo' })]))
    await hub.catalogue.reload()
    expect(hub.toolNamesFor('coder')).toEqual(['github_delete_repo'])
    expect(report()).toMatchObject([{ tool: 'delete_repo', state: 'granted' }])
  })
})

it('sends whoever calls a name that two servers have, both held back, to the one whose it is', async () => {
  const held = (key: string, since: number) => ({
    capabilities: [simpleCapability(key, [], { withheld: [{ name: 'read', reason: `Review ${key}.` }] })],
    claims: [{ kind: 'tool' as const, name: 'read', since, isHeld: true }],
  })
  const hub = await createHub({
    kind: 'upstream',
    units: { taker: held('taker', 2), holder: held('holder', 1) },
    agents: { coder: { capabilities: { taker: {}, holder: {} } } },
  })
  expect(hub.agents.session('coder').withheld('read')?.reason).toBe('Review holder.')
})

it.each([
  { claimed: { zoo: 1, box: 2 }, from: 'zoo', which: 'who has had it for longer' },
  { claimed: { zoo: 1, box: 1 }, from: 'box', which: 'of two that came at once the first in the alphabet' },
  { claimed: { box: 1, zoo: 1 }, from: 'box', which: 'of two that came at once the first in the alphabet' },
])(
  'reads an address that two servers have from one of them, wherever they stand: $which',
  async ({ claimed, from }) => {
    const name = 'docs://handbook'
    const unit = (key: string, since = 0) => ({
      capabilities: [simpleCapability(key, [], { resources: [simpleResource(name)] })],
      claims: [{ kind: 'resource' as const, name, since, isHeld: false }],
    })
    const units = Object.fromEntries(Object.entries(claimed).map(([key, since]) => [key, unit(key, since)]))
    const capabilities = Object.fromEntries(Object.keys(claimed).map(key => [key, {}]))
    const hub = await createHub({ kind: 'upstream', units, agents: { coder: { capabilities } } })
    expect(hub.agents.session('coder').view().resources).toMatchObject([{ capability: from }])
  },
)

describe('a tool that the owner has left out', () => {
  const reason = 'The owner leaves it out.'
  const unwanted = [{ name: 'delete_repo', calledAs: 'github_delete_repo', reason }]

  it('is unavailable to those who list it, and takes nothing else from them', async () => {
    const { hub, report, problems } = await hubWith({ github: { tools: ['issues', 'delete_repo'] } }, { unwanted })
    expect(problems()).toEqual([])
    expect(hub.toolNamesFor('coder')).toEqual(['github_issues'])
    expect(report()[1]).toMatchObject({ tool: 'delete_repo', state: 'unavailable', reason })
    const call = hub.callAs('coder', 'github_delete_repo')
    await expect(call).rejects.toMatchObject({ code: 'TOOL_DISABLED', message: expect.stringContaining(reason) })
    expect(hub.agents.session('coder').view().facts().withheld).toEqual([
      { tool: 'github_delete_repo', capability: 'github', reason },
    ])
  })

  it('is nothing to those who have all there are until they call it, and no name to whoever mistypes one', async () => {
    const { hub, report } = await hubWith({ github: {} }, { unwanted })
    expect(report().map(({ tool }) => tool)).toEqual(['issues', 'pull.merge'])
    const call = hub.callAs('coder', 'github_delete_repo')
    await expect(call).rejects.toMatchObject({ code: 'TOOL_DISABLED', message: expect.stringContaining(reason) })
    expect(() => hub.catalogue.tool('github_delete_repo')).toThrow(`not offered now. ${reason}`)
    const { problems } = await hubWith({ github: { tools: ['delete_rep'] } }, { unwanted })
    expect(problems()).toEqual(['Capability "github" has no tool "delete_rep". It has: issues, pull.merge.'])
  })
})

describe('a tool that its server has no more', () => {
  const gone = [
    { name: 'delete_repo', calledAs: 'github_delete_repo', reason: 'Its server does not list it any more.' },
  ]
  const reason = 'Its server does not list it any more. Look again: quartermaster upstreams restart github'

  it('is unavailable to those who list it, and takes nothing else from them', async () => {
    const { hub, report, problems } = await hubWith({ github: { tools: ['issues', 'delete_repo'] } }, { gone })
    expect(problems()).toEqual([])
    expect(hub.toolNamesFor('coder')).toEqual(['github_issues'])
    expect(report()[1]).toMatchObject({ tool: 'delete_repo', state: 'unavailable', reason })
    const call = hub.callAs('coder', 'github_delete_repo')
    await expect(call).rejects.toMatchObject({ code: 'TOOL_DISABLED' })
  })

  it('is told to whoever looks for it by its name', async () => {
    const { hub } = await hubWith({ github: {} }, { gone })
    expect(() => hub.catalogue.tool('github_delete_repo')).toThrow(`not offered now. ${reason}`)
    expect(() => hub.catalogue.tool('github_delete')).toThrow('There is no tool "github_delete".')
  })

  it('is nothing that anybody may have by another name', async () => {
    const unnamed = [{ name: 'delete_repo', reason: 'Its server does not list it any more.' }]
    const { hub } = await hubWith({ github: { tools: ['delete_repo'] } }, { gone: unnamed })
    expect(hub.agents.session('coder').withheld('delete_repo')).toMatchObject({ reason })
    expect(hub.agents.session('coder').withheld('github_delete_repo')).toBeUndefined()
  })

  it('is told as such to whoever has all there are and calls it, and to nobody else', async () => {
    const { hub } = await hubWith({ github: {} }, { gone })
    const told = { code: 'TOOL_DISABLED', message: expect.stringContaining(reason) }
    await expect(hub.callAs('coder', 'github_delete_repo')).rejects.toMatchObject(told)
    for (const tools of [['issues'], []]) {
      const other = await hubWith({ github: { tools } }, { gone })
      const call = other.hub.callAs('coder', 'github_delete_repo')
      await expect(call).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
    }
  })

  it('is nothing to those who have all there are, and no name to whoever mistypes one', async () => {
    const { report } = await hubWith({ github: {} }, { gone })
    expect(report().map(({ tool }) => tool)).toEqual(['issues', 'pull.merge'])
    const { problems } = await hubWith({ github: { tools: ['delete_rep'] } }, { gone })
    expect(problems()).toEqual(['Capability "github" has no tool "delete_rep". It has: issues, pull.merge.'])
    const withheld = Array.from({ length: 2_000 }, (_, i) => ({ name: `t${i}`, reason: 'New.' }))
    const many = await hubWith({ github: { tools: ['delete_rep'] } }, { withheld })
    expect(many.problems()).toEqual([
      expect.stringMatching(/It has: issues, pull\.merge, t0, .*, t17, and 1982 more\.$/),
    ])
  })
})

describe('a capability whose tools nobody has seen yet', () => {
  const unseen = 'Its server has never answered.'

  it('takes any list as unverified', async () => {
    const hub = await createHub({
      kind: 'upstream',
      units: { github: unitWith([], { unseen }) },
      agents: { coder: { capabilities: { github: { tools: ['issues', 'anything'] } } } },
    })
    const view = () => hub.agents.session('coder').view()
    expect(hub.agents.problems('coder')).toEqual([])
    expect(view().report()).toEqual([
      { capability: 'github', tool: 'issues', state: 'unavailable', reason: unseen },
      { capability: 'github', tool: 'anything', state: 'unavailable', reason: unseen },
    ])
    hub.write('github', unitWith([issues, merge]))
    await hub.catalogue.reload()
    expect(hub.agents.problems('coder')).toMatchObject([{ message: expect.stringContaining('"anything"') }])
    await hub.setAgents({ coder: { capabilities: { github: { tools: ['issues'] } } } })
    expect(hub.toolNamesFor('coder')).toEqual(['github_issues'])
  })

  it('is one entry for whoever lists nothing, and all of it once it is seen', async () => {
    const hub = await createHub({
      kind: 'upstream',
      units: { github: unitWith([], { unseen }) },
      agents: { coder: { capabilities: { github: {} } } },
    })
    const report = () => hub.agents.session('coder').view().report()
    expect(report()).toEqual([{ capability: 'github', tool: '*', state: 'unavailable', reason: unseen }])
    const { withheld } = hub.agents.session('coder')
    expect(withheld('github_issues')?.reason).toBe(`"github" may have it. ${unseen}`)
    expect(withheld('gitlab_issues')).toBeUndefined()
    const { dependency } = fakeService('upstream-github', { up: false, reason: 'It ended.' })
    hub.write('github', unitWith([], { unseen, dependencies: [dependency] }))
    await hub.catalogue.reload()
    await hub.health.probeNew()
    const why = `"github" may have it. upstream-github is down: It ended. ${unseen}`
    expect(withheld('github_issues')?.reason).toBe(why)
    expect(hub.agents.session('coder').view().facts().unseen).toEqual([
      { capability: 'github', reason: `upstream-github is down: It ended. ${unseen}` },
    ])
    hub.write('github', unitWith([issues]))
    await hub.catalogue.reload()
    expect(report()).toMatchObject([{ tool: 'issues', state: 'granted' }])
    expect(hub.agents.session('coder').view().facts()).not.toHaveProperty('unseen')
  })

  it('still refuses a tool that is listed twice', async () => {
    const hub = await createHub({
      kind: 'upstream',
      units: { github: unitWith([], { unseen }) },
      agents: { coder: { capabilities: { github: { tools: ['a', 'a'] } } } },
    })
    expect(hub.agents.problems('coder')).toMatchObject([{ message: '"a" is listed twice.' }])
  })
})

describe('a capability that resolves to the server of someone else', () => {
  const server = { type: 'stdio' as const, command: 'weather-server' }
  const foreign: CapabilityResolver = {
    key: 'weather',
    tools: [{ name: 'issues', title: 'Issues', short: 'Lists issues.' }],
    resolve: () => ({ mcpServer: server }),
  }
  const agents = { coder: { capabilities: { weather: {} } } }

  it('is unavailable where nothing mounts it', async () => {
    const hub = await createHub({ agents })
    hub.catalogue.register(foreign)
    expect(hub.agents.session('coder').view().report()).toEqual([
      {
        capability: 'weather',
        tool: 'issues',
        state: 'unavailable',
        reason: 'It names an MCP server that is not mounted here.',
      },
    ])
  })

  it('has the tools of the capability it is mounted as, from the generation on that brings it', async () => {
    const asked: MountRequest[] = []
    const mount = (request: MountRequest) => {
      asked.push(request)
      return { capability: 'mounted' }
    }
    const hub = await createHub({ agents, mount })
    hub.catalogue.register(foreign)
    const report = () => hub.agents.session('coder').view().report()
    expect(report()).toMatchObject([{ state: 'unavailable', reason: 'Its MCP server is being mounted.' }])
    expect(asked[0]).toMatchObject({ key: 'weather', server, context: { agent: { name: 'coder' } } })
    hub.write('up', { capabilities: [simpleCapability('mounted', [issues, merge])] })
    await hub.catalogue.reload()
    expect(report()).toMatchObject([
      { capability: 'weather', tool: 'issues', calledAs: 'github_issues', state: 'granted' },
      { capability: 'weather', tool: 'pull.merge', state: 'granted' },
    ])
    await hub.setAgents({ coder: { capabilities: { weather: { tools: ['issues'] } } } })
    expect(hub.toolNamesFor('coder')).toEqual(['github_issues'])
  })

  it('is unavailable with the reason that mounting gives', async () => {
    const hub = await createHub({ agents, mount: () => ({ reason: 'Too many servers.' }) })
    hub.catalogue.register(foreign)
    expect(hub.agents.session('coder').view().report()).toMatchObject([{ reason: 'Too many servers.' }])
  })
})
