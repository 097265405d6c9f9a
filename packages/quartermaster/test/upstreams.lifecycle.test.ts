import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { allGone, pidsIn } from '../src/adapters/mcp-upstream/testing/child-fixture.ts'
import { httpEndpoint } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import {
  ILL_SERVER,
  onFixture,
  openFixture,
  program,
  SDK_SERVER,
  startHttpServer,
  textOf,
  type UpstreamFixture,
} from './support/upstream-fixture.ts'

const everyone = (...names: string[]) =>
  Object.fromEntries(names.map(name => [name, { capabilities: { desk: {} } }] as const))

async function isUp(fixture: UpstreamFixture, name = 'desk'): Promise<void> {
  await expect.poll(async () => (await fixture.status(name))?.state).toBe('up')
}

const pidsOf = async (fixture: UpstreamFixture) => (await fixture.status('desk'))?.pids
/** What is offered now: a client that hears of no changes goes on for a minute with a list from a moment too early. */
const namesIn = async (client: Client) =>
  (await client.listTools(undefined, { cacheMode: 'refresh' })).tools.map(tool => tool.name)

async function configure(fixture: UpstreamFixture, config: object): Promise<void> {
  await writeFile(join(fixture.dir, 'quartermaster.config.json'), JSON.stringify(config))
  await fixture.control('reload')
}

describe('an upstream that starts when it is needed', () => {
  it('has no process until the first call, is asked nothing by HTTP, and neither again when it is not used', async () => {
    const [old, young] = [await sessionServer(), await sessionServer()]
    const lazily = (entry: object) => ({ ...entry, start: 'lazy', idleSeconds: 1 })
    const first = await openFixture({
      mcpServers: {
        near: lazily(program(ILL_SERVER)),
        each: lazily({ ...program(ILL_SERVER), connection: 'perAgent' }),
        old: lazily({ url: old.url, era: 'legacy' }),
        young: lazily({ url: young.url, era: 'modern' }),
      },
    })
    // They have not been listed yet, so they are read once.
    const offered = async () => {
      const statuses = await Promise.all(['near', 'each', 'old', 'young'].map(name => first.status(name)))
      return statuses.map(status => Number(status?.tools.offered) > 0)
    }
    await expect.poll(offered).toEqual([true, true, true, true])
    await first.up.stop()

    old.visits.length = 0
    young.visits.length = 0
    const fixture = await onFixture(first.dir)
    const client = await fixture.connect()
    const listed = ['near_echo', 'each_echo', 'old_count', 'young_count']
    await expect.poll(() => namesIn(client)).toEqual(expect.arrayContaining(listed))
    for (const name of ['near', 'each'])
      expect(await fixture.status(name)).toMatchObject({ state: 'idle', pids: [], restarts: 0 })
    for (const name of ['old', 'young'])
      expect(await fixture.status(name)).toMatchObject({ state: 'idle', connections: 0 })
    expect([...old.visits, ...young.visits]).toEqual([])

    // A session is given back, where there is one.
    const ended = () => [old, young].map(({ visits }) => visits.filter(({ method }) => method === 'DELETE').length)
    const asleep = { state: 'idle', pids: [], connections: 0, restarts: 0 }
    for (const time of [1, 2]) {
      const text = `awake ${time}`
      const near = [textOf(client, 'near_echo', { text }), textOf(client, 'each_echo', { text })]
      const far = [textOf(client, 'old_count'), textOf(client, 'young_count')]
      expect(await Promise.all([...near, ...far])).toEqual([text, text, '3 issues', '3 issues'])
      for (const name of ['near', 'each', 'old', 'young'])
        await expect.poll(() => fixture.status(name)).toMatchObject(asleep)
      await expect.poll(ended).toEqual([time, 0])
      expect(await namesIn(client)).toEqual(expect.arrayContaining(listed))
    }
  })
})

it('ends what runs for one agent alone when that loses it, or is gone itself, and nothing else', async () => {
  const log = join(await freshFolder(), 'log')
  const fixture = await openFixture({
    mcpServers: { desk: { ...program(SDK_SERVER, `--log=${log}`), connection: 'perAgent' } },
    agents: everyone('ada', 'bob', 'cy'),
  })
  await isUp(fixture)
  const callAs = async (agent: string) => textOf(await fixture.connect('auto', { agent }), 'desk_echo', { text: agent })
  expect(await callAs('bob')).toBe('bob')
  const withoutAda = (await pidsOf(fixture)) ?? []
  expect(withoutAda).toHaveLength(2)
  expect(await callAs('ada')).toBe('ada')
  const withoutCy = (await pidsOf(fixture)) ?? []
  const cy = await fixture.connect('auto', { agent: 'cy' })
  const waiting = textOf(cy, 'desk_wait')
  await expect.poll(() => readFile(log, 'utf8').catch(() => '')).toContain('wait')
  const [ofCy = 0, ...others] = ((await pidsOf(fixture)) ?? []).filter(pid => !withoutCy.includes(pid))
  expect(others).toEqual([])
  const give = async (capabilities: object) => {
    await writeFile(join(fixture.dir, 'agents', 'cy.json'), JSON.stringify({ capabilities }))
    await fixture.control('reload')
  }
  await give({})
  expect(await pidsOf(fixture)).toContain(ofCy)
  process.kill(ofCy, 'SIGKILL')
  expect(await waiting).toContain('"cy" no longer has "desk"')
  await expect.poll(async () => (await pidsOf(fixture))?.toSorted()).toEqual(withoutCy.toSorted())
  await give({ desk: {} })
  expect(await callAs('cy')).toBe('cy')
  await give({})
  await expect.poll(() => pidsOf(fixture)).toHaveLength(3)
  await rm(join(fixture.dir, 'agents', 'ada.json'))
  await fixture.control('reload')
  await expect.poll(async () => (await pidsOf(fixture))?.toSorted()).toEqual(withoutAda.toSorted())
})

/** A server of either era, with sessions in the older one. */
async function sessionServer() {
  const discovered = {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    serverInfo: { name: 'desk', version: '1' },
  }
  return httpEndpoint(visit => {
    if (visit.method === 'DELETE') return visit.json(200)
    if (visit.body['method'] === 'initialize') visit.response.setHeader('mcp-session-id', 'one')
    answerLegacy(visit, { 'server/discover': () => discovered })
  })
}

describe('a connection that agents share', () => {
  it('gives every agent its own answers, however many calls are under way', async () => {
    const fixture = await openFixture({
      mcpServers: { desk: program(SDK_SERVER) },
      agents: everyone('ada', 'bob', 'cy'),
    })
    await isUp(fixture)
    const calls = async (agent: string) => {
      const client = await fixture.connect('auto', { agent })
      const asked = Array.from({ length: 100 }, (_, index) => `${agent} ${index}`)
      return { asked, told: await Promise.all(asked.map(text => textOf(client, 'desk_echo', { text }))) }
    }
    for (const { asked, told } of await Promise.all(['ada', 'bob', 'cy'].map(calls))) expect(told).toEqual(asked)
    expect(await fixture.status('desk')).toMatchObject({ connections: 1, latency: { calls: 300 } })
  })

  it.each<[string, (flag: string) => object]>([
    ['a program', flag => program(SDK_SERVER, flag)],
    ['by HTTP', async flag => ({ url: (await startHttpServer(flag)).url })],
  ])(
    'is replaced when its server asks and the agent is unknown: then each agent can be asked (%s)',
    async (_, entry) => {
      const log = join(await freshFolder(), 'log')
      const server = { ...(await entry(`--log=${log}`)), era: 'legacy' }
      const fixture = await openFixture({ mcpServers: { desk: server }, agents: everyone('ada', 'bob') })
      await isUp(fixture)
      const connect = async (agent: string) => {
        const client = await fixture.connect('auto', { agent, capabilities: { elicitation: { form: {} } } })
        client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: agent } }))
        return client
      }
      const [ada, bob] = await Promise.all([connect('ada'), connect('bob')])
      const controller = new AbortController()
      const waiting = ada.callTool({ name: 'desk_wait', arguments: {} }, { signal: controller.signal }).catch(() => {})
      await expect.poll(() => readFile(log, 'utf8').catch(() => '')).toContain('wait')
      const refused = await bob.callTool({ name: 'desk_ask', arguments: {} })
      expect(JSON.stringify(refused.content)).toMatch(/decline.*no person refused/)

      const [toAda, toBob] = await Promise.all([textOf(ada, 'desk_ask'), textOf(bob, 'desk_ask')])
      expect(toAda).toContain('"ada"')
      expect(toBob).toContain('"bob"')
      expect(await fixture.status('desk')).toMatchObject({ connections: 3, unasked: { questions: 1 } })
      expect((await fixture.run('logs', 'desk')).stdout).toContain('From now on each agent has its own connection.')
      controller.abort()
      await waiting
    },
  )

  it('asks no person what another client of the same agent has caused, and one client whatever else it is doing', async () => {
    const log = join(await freshFolder(), 'log')
    const server = { ...program(SDK_SERVER, `--log=${log}`), era: 'legacy' }
    const fixture = await openFixture({ mcpServers: { desk: server } })
    await isUp(fixture)
    const asked: string[] = []
    const connect = async (person: string) => {
      const client = await fixture.connect('auto', { capabilities: { elicitation: { form: {} } } })
      client.setRequestHandler('elicitation/create', () => {
        asked.push(person)
        return { action: 'accept', content: { name: person } }
      })
      return client
    }
    const [one, other] = await Promise.all([connect('one'), connect('other')])
    const controller = new AbortController()
    const waiting = one.callTool({ name: 'desk_wait', arguments: {} }, { signal: controller.signal }).catch(() => {})
    await expect.poll(() => readFile(log, 'utf8').catch(() => '')).toContain('wait')
    expect(await textOf(other, 'desk_ask')).toContain('decline')
    expect(asked).toEqual([])
    controller.abort()
    await waiting

    const [first, second] = await Promise.all([textOf(one, 'desk_ask'), textOf(one, 'desk_ask')])
    expect([first, second]).toEqual([expect.stringContaining('"one"'), expect.stringContaining('"one"')])
    expect(asked).toEqual(['one', 'one'])
  })
})

describe('a connection of one agent', () => {
  const described = (...tools: [name: string, description: string][]) =>
    JSON.stringify(tools.map(([name, description]) => ({ name, description, inputSchema: { type: 'object' } })))

  it('offers what a person has accepted, also when it was opened before that', async () => {
    const file = join(await freshFolder(), 'tools.json')
    await writeFile(file, described(['same', 'Stays.'], ['note', 'Notes.']))
    const server = { ...program(ILL_SERVER, `--definitions=${file}`), connection: 'perAgent' }
    const fixture = await openFixture({ mcpServers: { desk: server } })
    const client = await fixture.connect()
    await expect.poll(() => textOf(client, 'desk_note')).toBe('{}')
    await writeFile(file, described(['same', 'Stays.'], ['note', 'Another.']))
    await expect.poll(() => textOf(client, 'desk_note').catch(String)).toContain('not offered')
    expect(await fixture.run('upstreams', 'accept', 'desk', '--all', '--yes')).toMatchObject({ code: 0 })
    await expect.poll(() => namesIn(client)).toContain('desk_note')
    expect(await textOf(client, 'desk_note')).toBe('{}')
  })

  const keyOf = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

  it('is not taken from it by the bad key of another', async () => {
    const { url } = await startHttpServer('--token=of-bob')
    const agents = { ada: keyOf('revoked'), bob: keyOf('of-bob') }
    const fixture = await openFixture({ mcpServers: { desk: { url, agents } }, agents: everyone('ada', 'bob') })
    await isUp(fixture)
    const bob = await fixture.connect('auto', { agent: 'bob' })
    await expect.poll(() => textOf(bob, 'desk_echo', { text: 'hi' })).toBe('hi')
    const ada = await fixture.connect('auto', { agent: 'ada' })
    expect(await textOf(ada, 'desk_echo', { text: 'hi' })).toContain('DEPENDENCY_UNAVAILABLE')
  })

  it('is not the only one notified of a change at a server that requires a key', async () => {
    const { url } = await startHttpServer('--token=of-ada')
    const server = { url, agents: { ada: keyOf('of-ada') } }
    const fixture = await openFixture({ mcpServers: { desk: server }, agents: everyone('ada') })
    await isUp(fixture)
    const direct = new Client({ name: 'direct', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await direct.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: keyOf('of-ada') }))
    onTestFinished(() => direct.close())
    await direct.callTool({ name: 'grow', arguments: { name: 'late' } })
    const waits = async () => JSON.stringify(await fixture.control('reviewItems'))
    await expect.poll(waits).toContain('late')
  })
})

describe('an upstream that runs', () => {
  it('is restarted by a person’s command, and nothing of the one before is left', async () => {
    const file = join(await freshFolder(), 'pids')
    const fixture = await openFixture({ mcpServers: { desk: program(ILL_SERVER, '--fork-bare', `--pids=${file}`) } })
    await isUp(fixture)
    const before = await pidsOf(fixture)
    const started = await pidsIn(file)
    expect(started).toHaveLength(2)
    expect(await fixture.run('upstreams', 'restart', 'desk')).toMatchObject({ code: 0 })
    await isUp(fixture)
    expect(await pidsOf(fixture)).not.toEqual(before)
    expect(await allGone(started)).toBe(true)
  })

  it('logs which of its programs wrote what, and that a person restarted it', async () => {
    const fixture = await openFixture({
      mcpServers: { desk: { ...program(ILL_SERVER, '--stderr=Hello.'), era: 'legacy' } },
    })
    const told = async () => {
      const lines = (await fixture.run('logs', 'desk')).stdout.trim().split('\n')
      return lines.map(line => line.replace(/^\S+ /, '')).filter(line => !line.includes('Connected to'))
    }
    await isUp(fixture)
    const [first] = (await pidsOf(fixture)) ?? []
    await fixture.run('upstreams', 'restart', 'desk')
    await isUp(fixture)
    const [second] = (await pidsOf(fixture)) ?? []
    await expect
      .poll(told)
      .toEqual([
        `gateway It was started, as process ${first}.`,
        'stderr  Hello.',
        'gateway A person restarted it.',
        `gateway It was started, as process ${second}.`,
        'stderr  Hello.',
      ])
  })

  it('keeps running when only its texts are changed, and restarts when its command is', async () => {
    const fixture = await openFixture({ mcpServers: { desk: program(ILL_SERVER) } })
    await isUp(fixture)
    const use = (entry: object) => configure(fixture, { mcpServers: { desk: entry } })
    const shortOf = async () => (await fixture.control<{ short: string }>('tool', { name: 'desk_echo' })).short
    const before = await pidsOf(fixture)
    await use({ ...program(ILL_SERVER), tools: { echo: { short: 'Repeats.' } } })
    await expect.poll(shortOf).toBe('Repeats.')
    expect(await pidsOf(fixture)).toEqual(before)
    await use(program(ILL_SERVER, '--stderr=I am another'))
    await isUp(fixture)
    expect(await pidsOf(fixture)).not.toEqual(before)
    await expect.poll(async () => (await fixture.run('logs', 'desk')).stdout).toContain('I am another')
  })

  it('is a dependency that status and metrics tell of', async () => {
    const missing = { command: 'no-such-program' }
    const fixture = await openFixture({ mcpServers: { desk: program(ILL_SERVER), missing } })
    await isUp(fixture)
    const metrics = async () => (await fetch(`${fixture.up.url}/metrics`)).text()
    await expect.poll(metrics).toMatch(/dependency="upstream-desk"[^\n]*state="up"[^\n]* 1\n/)
    await expect.poll(metrics).toContain('dependency="upstream-missing"')
    const { dependencies } = await fixture.control<{ dependencies: { name: string; state: string }[] }>('status')
    expect(dependencies).toContainEqual(expect.objectContaining({ name: 'upstream-desk', state: 'up' }))
  })
})

describe('an upstream that accepts only one agent', () => {
  it('is never used with the credentials of that one by another who waited for its start', async () => {
    const { url } = await startHttpServer('--token=of-ada')
    const far = { url, start: 'lazy', agents: { ada: { headers: { authorization: 'Bearer of-ada' } } } }
    const capabilities = { far: {} }
    const first = await openFixture({ mcpServers: { far }, agents: { ada: { capabilities }, bob: { capabilities } } })
    await expect.poll(async () => (await first.status('far'))?.tools.offered).toBeGreaterThan(0)
    await first.up.stop()
    const fixture = await onFixture(first.dir)
    const bob = await fixture.connect('auto', { agent: 'bob' })
    expect(await textOf(bob, 'far_echo', { text: 'hi' })).toContain('DEPENDENCY_UNAVAILABLE')
  })
})
