import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { TOOL_NAMES } from '../../src/contracts/index.ts'
import { openToolbox } from '../../src/index.ts'
import { CASES, type Case } from './cases.ts'
import { oldNamesIn } from './old-names.ts'
import { breakFeed, openHostPlace, openUpPlace } from './projects.ts'
import {
  asToldBy,
  BEHIND_UP,
  IN_PROCESS,
  type Served,
  type ServedTool,
  TAKES_OBJECTS,
  TELLS_OF_CLIENTS,
  TELLS_PROGRESS,
  WITHOUT_GATEWAY,
} from './runtimes.ts'
import { type Fixture, nameOf, OF_GATEWAY, OF_VIEWS, play, type Transcript } from './script.ts'

/** All others are held against it. */
const FIRST = 'the toolbox in this process'
const RUNTIMES = [...Object.keys(IN_PROCESS), ...Object.keys(BEHIND_UP)]
const OTHERS = RUNTIMES.filter(name => name !== FIRST)
const fixtureOf = (runtime: string) => `x${10 + RUNTIMES.indexOf(runtime)}`
const skipsIn =
  (runtime: string) =>
  ({ tool, isBare, asks }: Case): boolean =>
    (runtime === WITHOUT_GATEWAY && OF_GATEWAY.has(tool)) ||
    (isBare === true && TAKES_OBJECTS.test(runtime)) ||
    (asks === true && TELLS_OF_CLIENTS.test(runtime))

let host: Awaited<ReturnType<typeof openHostPlace>>
let up: Awaited<ReturnType<typeof openUpPlace>>
const fixtures = new Map<string, Fixture>()
const transcripts = new Map<string, Transcript>()

beforeAll(async () => {
  host = await openHostPlace(Object.keys(IN_PROCESS).map(fixtureOf))
  up = await openUpPlace(Object.keys(BEHIND_UP).map(fixtureOf))
  for (const [runtime, open] of Object.entries(IN_PROCESS)) await openFixture(runtime, host, agent => open(host, agent))
  for (const [runtime, open] of Object.entries(BEHIND_UP)) await openFixture(runtime, up, agent => open(up, agent))
  // Only now, so that every runtime holds the tool that goes.
  await breakFeed(host, `clerk-${fixtureOf(FIRST)}`)
  await breakFeed(up, `clerk-${fixtureOf('the HTTP API')}`)
})
afterAll(async () => {
  for (const { clerk, reader } of fixtures.values()) for (const served of [clerk, reader]) await served.close?.()
  await Promise.all([host?.close(), up?.close()])
})

async function openFixture(runtime: string, place: Fixture['place'], open: (agent: string) => Promise<Served>) {
  const name = fixtureOf(runtime)
  fixtures.set(runtime, { name, place, clerk: await open(`clerk-${name}`), reader: await open(`reader-${name}`) })
}

function fixtureAt(runtime: string): Fixture {
  const fixture = fixtures.get(runtime)
  if (!fixture) throw new Error(`${runtime} is not open.`)
  return fixture
}

async function transcriptOf(runtime: string): Promise<Transcript> {
  const transcript = transcripts.get(runtime) ?? (await play(fixtureAt(runtime), skipsIn(runtime)))
  transcripts.set(runtime, transcript)
  return transcript
}

/** What comes with the package, by name. */
const builtIn = () => host.host.tools().filter(({ section }) => section !== 'desk')

describe('the table of cases', () => {
  it('has a good call of every built-in tool, and a refused one of each that can be asked wrongly', () => {
    const comes = (name: string, isGood: boolean) =>
      CASES.some(({ tool, comesTo }) => tool === name && (comesTo === 'done') === isGood)
    const takes = (name: string) => Object.keys(host.host.tool(name).input.properties ?? {}).length > 0
    const names = builtIn().map(({ name }) => name)
    expect(names.filter(name => !comes(name, true))).toEqual([])
    expect(names.filter(name => takes(name) && !comes(name, false))).toEqual([])
  })

  it('has no case of a tool that is not there', () => {
    const names = new Set(host.host.tools().map(({ name }) => name))
    expect(CASES.map(({ tool }) => tool).filter(tool => !names.has(tool))).toEqual([])
  })

  it('has one name for each case', () => {
    expect(new Set(CASES.map(nameOf)).size).toBe(CASES.length)
  })

  it('comes to what it says', async () => {
    const transcript = await transcriptOf(FIRST)
    expect(CASES.map(one => [nameOf(one), transcript[nameOf(one)]?.kind])).toEqual(
      CASES.map(one => [nameOf(one), one.comesTo]),
    )
  })
})

describe.each(OTHERS)('%s', runtime => {
  it(`answers every case as ${FIRST} does`, async () => {
    const [own, first] = [await transcriptOf(runtime), await transcriptOf(FIRST)]
    const expected = CASES.filter(one => !skipsIn(runtime)(one)).map(one => {
      const told = first[nameOf(one)]
      return [nameOf(one), told && asToldBy(runtime, told)]
    })
    expect(own).toEqual(Object.fromEntries(expected))
  })
})

describe.each(RUNTIMES.filter(runtime => TELLS_PROGRESS.test(runtime)))('%s', runtime => {
  it('tells how far a call is', async () => {
    const told: unknown[] = []
    await fixtureAt(runtime).clerk.call('steps', {}, progress => told.push(progress))
    expect(told).toEqual([{ progress: 1, total: 2, message: 'half' }])
  })
})

/** What a runtime has, direct and through the gateway view. */
async function servedBy(runtime: string): Promise<ReadonlyMap<string, ServedTool>> {
  const { clerk, reader } = fixtureAt(runtime)
  const tools = LISTS_GRANTS.has(runtime) || runtime === WITHOUT_GATEWAY ? [] : await reader.tools()
  return new Map([...tools, ...(await clerk.tools())].map(tool => [tool.name, tool]))
}

const listings = new Map<string, ReturnType<typeof servedBy>>()

function kept(runtime: string): ReturnType<typeof servedBy> {
  const listing = listings.get(runtime) ?? servedBy(runtime)
  listings.set(runtime, listing)
  return listing
}

/** The command line and the API behind it list what an agent was granted; what its view adds is for models. */
const LISTS_GRANTS: ReadonlySet<string> = new Set(['the HTTP API', 'the command line'])

describe.each(RUNTIMES)('in %s', runtime => {
  const absent = LISTS_GRANTS.has(runtime) ? OF_VIEWS : runtime === WITHOUT_GATEWAY ? OF_GATEWAY : new Set()
  const shown = () => builtIn().filter(({ name }) => !absent.has(name))

  it('every tool is served', async () => {
    const served = await kept(runtime)
    expect(shown().filter(({ name }) => !served.has(name))).toEqual([])
  })

  it('the description is `short`, word for word', async () => {
    const served = await kept(runtime)
    expect(shown().map(({ name }) => [name, served.get(name)?.description])).toEqual(
      shown().map(({ name }) => [name, host.host.tool(name).short]),
    )
  })

  it('the schema is the same', async () => {
    const served = await kept(runtime)
    for (const { name } of shown())
      expect([name, served.get(name)?.inputSchema]).toEqual([name, host.host.tool(name).input])
  })
})

describe('the A2A card of an agent', () => {
  it('has as skills the same tools in the same words, but for those that only the agent itself has a use for', async () => {
    const fixture = fixtureOf('the HTTP API')
    const { result } = await up.control.call({ agent: `top-${fixture}`, tool: 'list_peers', input: {} })
    const { peers } = result.structuredContent as { peers: { name: string; workspace_id: string }[] }
    const clerk = peers.find(({ name }) => name === `clerk-${fixture}`)?.workspace_id
    const headers = { authorization: `Bearer ${await up.tokenOf(`top-${fixture}`)}`, 'a2a-version': '1.0' }
    const answer = await fetch(`${up.url}/a2a/${clerk}/.well-known/agent-card.json`, { headers })
    const { skills } = (await answer.json()) as { skills: { id: string; description: string }[] }
    const outward = new Set(['files', 'notes', 'desk'])
    const tools = host.host.tools({ state: 'active' }).filter(({ section }) => outward.has(section))
    expect(skills.map(({ id, description }) => [id, description])).toEqual(
      tools.map(({ name }) => [name, host.host.tool(name).short]),
    )
  })
})

describe('a toolbox whose token is taken back', () => {
  it('has no tools any more, says so, and refuses every call', async () => {
    const { token, facts } = await up.control.createToken({ agent: `clerk-${fixtureOf('the HTTP API')}` })
    const toolbox = await openToolbox({ url: up.mcpUrl, token })
    onTestFinished(() => toolbox.close())
    expect(await toolbox.tools()).not.toEqual([])
    const changed = new Promise<void>(resolve => void toolbox.onChange(resolve))
    await up.control.revokeToken({ id: facts.id })
    await changed
    await expect(toolbox.tools()).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    await expect(toolbox.call('number', {})).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })
})

describe('tools that others send a model to', () => {
  it('are there', () => {
    const names = new Set(builtIn().map(({ name }) => name))
    expect(Object.values(TOOL_NAMES).filter(name => !names.has(name))).toEqual([])
  })
})

describe('old names', () => {
  it('are absent: no tool is called by one or tells of one', () => {
    const told = builtIn().map(({ name }) => [name, oldNamesIn(JSON.stringify(host.host.tool(name)))])
    expect(told.filter(([, found]) => found?.length !== 0)).toEqual([])
  })
})
