import { describe, expect, it } from 'vitest'
import {
  createHub,
  DOWN,
  fakeService,
  simpleCapability,
  simplePrompt,
  simpleResource,
  simpleTool,
  UP,
} from '../../testing/hub.ts'
import { defineCapability, defineResource } from '../catalogue/index.ts'
import type { ViewChange } from './index.ts'

const page = defineResource({ name: 'page', uriTemplate: 'docs://{page}', read: ({ params }) => params.page })

/** `worker` has all of `docs`, `reader` its prompts and resources only, `stranger` nothing. */
async function hubWithDocs() {
  const printer = fakeService('printer', UP, { recoveringMs: 0 })
  const docs = simpleCapability('docs', [simpleTool('print', { requires: ['printer'] })], {
    prompts: [simplePrompt('summary'), simplePrompt('printout', { requires: ['printer'] })],
    resources: [page, simpleResource('docs://home'), simpleResource('docs://queue', { requires: ['printer'] })],
    dependencies: [printer.dependency],
  })
  const hub = await createHub({
    units: { 'docs.ts': { capabilities: [docs] } },
    agents: {
      worker: { capabilities: { docs: {} } },
      reader: { capabilities: { docs: { tools: [] } } },
      stranger: { capabilities: {} },
    },
  })
  await hub.health.probeNew()
  const stop = async () => {
    printer.verdict = DOWN
    hub.health.reportFailure('printer', 'out of paper')
    await hub.health.recheck('dependency:printer', { force: true })
    await hub.clock.advance(0)
  }
  return { hub, printer, stop }
}

type Docs = Awaited<ReturnType<typeof hubWithDocs>>

function seen({ hub }: Docs, agent: string) {
  const view = hub.agents.session(agent).view()
  return {
    prompts: view.prompts.map(({ prompt }) => prompt.name),
    resources: view.resources.map(({ resource }) => resource.key),
  }
}

const ALL = { prompts: ['summary', 'printout'], resources: ['docs://{page}', 'docs://home', 'docs://queue'] }
const NONE = { prompts: [], resources: [] }

describe('an agent', () => {
  it('has the prompts and resources of its capabilities, whatever tools it lists', async () => {
    const docs = await hubWithDocs()
    expect(seen(docs, 'worker')).toEqual(ALL)
    expect(seen(docs, 'reader')).toEqual(ALL)
    expect(seen(docs, 'stranger')).toEqual(NONE)
    const stranger = docs.hub.agents.session('stranger')
    expect([stranger.prompt('summary'), stranger.resource('docs://home')]).toEqual([undefined, undefined])
  })

  it('has nothing of a capability that left itself out', async () => {
    const shy = defineCapability({
      key: 'shy',
      short: 'Shy.',
      tools: [],
      prompts: [simplePrompt('one')],
      resources: [simpleResource('a://b')],
      resolve: () => null,
    })
    const hub = await createHub({
      units: { 'shy.ts': { capabilities: [shy] } },
      agents: { worker: { capabilities: { shy: {} } } },
    })
    expect(hub.agents.session('worker').view()).toMatchObject(NONE)
  })

  it('sees those only whose dependencies are there, and has the others all the same', async () => {
    const docs = await hubWithDocs()
    await docs.stop()
    expect(seen(docs, 'reader')).toEqual({ prompts: ['summary'], resources: ['docs://{page}', 'docs://home'] })
    const session = docs.hub.agents.session('reader')
    expect(session.prompt('printout')?.prompt.name).toBe('printout')
    expect(session.resource('docs://queue')?.grant.resource.name).toBe('queue')
  })
})

describe('a resource', () => {
  it('is found by its exact address before any template', async () => {
    const { hub } = await hubWithDocs()
    const session = hub.agents.session('worker')
    expect(session.resource('docs://home')).toMatchObject({ grant: { resource: { key: 'docs://home' } }, params: {} })
    expect(session.resource('docs://a%20b')).toMatchObject({
      grant: { resource: { key: 'docs://{page}' } },
      params: { page: 'a b' },
    })
    expect(session.resource('docs://a/b')).toBeUndefined()
  })

  it('is found by its template only by those who say so', async () => {
    const { hub } = await hubWithDocs()
    const session = hub.agents.session('worker')
    expect(session.resourceTemplate('docs://{page}')?.resource.name).toBe('page')
    expect(session.resourceTemplate('docs://home')).toBeUndefined()
    expect(session.resource('docs://{page}')?.params).toEqual({ page: '{page}' })
  })
})

describe('resources of two servers at one address', () => {
  const graph = (server: string) => ({
    capabilities: [
      simpleCapability(server, [], {
        resources: [
          simpleResource('memory://graph', { read: () => server }),
          defineResource({ name: 'node', uriTemplate: 'memory://{node}', read: () => server }),
        ],
      }),
    ],
  })
  const AGENTS = {
    ada: { capabilities: { first: {} } },
    bob: { capabilities: { second: {} } },
    eve: { capabilities: { second: {}, first: {} } },
  }

  async function readBy(hub: Awaited<ReturnType<typeof createHub>>, agent: string, uri: string) {
    const { contents } = await hub.readings.readResource({ session: hub.agents.session(agent), uri })
    return contents.map(one => ('text' in one ? one.text : ''))
  }

  it('are read by each agent from the server it has', async () => {
    const hub = await createHub({
      kind: 'upstream',
      units: { first: graph('first'), second: graph('second') },
      agents: AGENTS,
    })
    expect(hub.catalogue.problems()).toEqual([])
    for (const uri of ['memory://graph', 'memory://other']) {
      expect(await readBy(hub, 'ada', uri)).toEqual(['first'])
      expect(await readBy(hub, 'bob', uri)).toEqual(['second'])
      expect(await readBy(hub, 'eve', uri)).toEqual(['first'])
    }
    expect(hub.agents.session('bob').resourceTemplate('memory://{node}')?.capability).toBe('second')
    expect(hub.agents.session('eve').view().resources).toHaveLength(2)
  })

  it('are told to whoever gives an agent both', async () => {
    const hub = await createHub({
      kind: 'upstream',
      units: { first: graph('first'), second: graph('second') },
      agents: AGENTS,
    })
    expect(['ada', 'bob'].flatMap(name => hub.agents.problems(name))).toEqual([])
    expect(hub.agents.problems('eve')).toMatchObject([
      {
        severity: 'warning',
        field: 'capabilities.second',
        message:
          '"first" and "second" both have resources at "memory://graph" and 1 more; "eve" reads those of "first".',
        fix: expect.stringContaining('"resources": false'),
      },
    ])
  })

  it('stay a mistake in definitions of our own', async () => {
    const hub = await createHub({ units: { first: graph('first'), second: graph('second') }, agents: AGENTS })
    expect(hub.catalogue.problems()).toMatchObject([{ severity: 'error' }, { severity: 'error' }])
    expect(hub.agents.session('bob').view().resources).toEqual([])
  })
})

describe('whoever follows a view', () => {
  it('is told which lists changed', async () => {
    const { hub, stop } = await hubWithDocs()
    const told: Record<string, ViewChange[]> = { worker: [], reader: [], stranger: [] }
    for (const [agent, changes] of Object.entries(told))
      hub.agents.follow(hub.agents.session(agent), change => changes.push(change))
    await stop()
    expect(told).toEqual({
      worker: [{ tools: true, prompts: true, resources: true }],
      reader: [{ tools: false, prompts: true, resources: true }],
      stranger: [],
    })
  })

  it('is not told of prompts when a resource changed', async () => {
    const { hub } = await hubWithDocs()
    const changes: ViewChange[] = []
    hub.write('more.ts', { capabilities: [simpleCapability('more', [], { resources: [simpleResource('more://a')] })] })
    await hub.catalogue.reload()
    await hub.setAgents({ worker: { capabilities: { docs: {} } } })
    hub.agents.follow(hub.agents.session('worker'), change => changes.push(change))
    await hub.setAgents({ worker: { capabilities: { docs: {}, more: {} } } })
    await hub.clock.advance(0)
    expect(changes).toEqual([{ tools: false, prompts: false, resources: true }])
  })
})

describe('discovery', () => {
  it('shows the prompts and resources of a capability', async () => {
    const { hub } = await hubWithDocs()
    const [docs] = hub.registry.knownCapabilities()
    expect(docs?.prompts).toEqual([
      { name: 'summary', title: 'Summary', short: 'Asks for summary.', arguments: [] },
      { name: 'printout', title: 'Printout', short: 'Asks for printout.', arguments: [] },
    ])
    expect(docs?.resources?.slice(0, 2)).toEqual([
      { name: 'page', title: 'Page', short: '', uriTemplate: 'docs://{page}' },
      { name: 'home', title: 'Home', short: '', uri: 'docs://home' },
    ])
  })

  it('gives a run a server for a capability that has no tools', async () => {
    const { hub } = await hubWithDocs()
    const agent = { name: 'worker', capabilities: {} }
    const context = { agentDir: '/', workspaceDir: '/', agent }
    const { mcpServers, report } = hub.registry.resolve({ docs: { tools: [] } }, context)
    expect([Object.keys(mcpServers), report]).toEqual([['docs'], []])
  })
})
