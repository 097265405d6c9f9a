import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClientOptions, Tool } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { httpEndpoint, type Visit } from '../src/adapters/mcp-upstream/testing/http-endpoint.ts'
import { answerLegacy } from '../src/adapters/mcp-upstream/testing/legacy-answers.ts'
import { connectClient } from './support/bridge.ts'
import { ILL_SERVER, openFixture, program, type UpstreamFixture } from './support/upstream-fixture.ts'

const PATIENT = { interval: 20 }
const FALLS = ['Once.', 'Twice.', 'Again.', 'Once more.']
const BOTH = 'far_count near_echo'

/** A server by HTTP that comes and goes at one address. Its stream stays open, so that connected clients notice. */
async function passingServer() {
  const answer = (visit: Visit) => (visit.method === 'GET' ? void visit.events() : answerLegacy(visit))
  let server = await httpEndpoint(answer)
  const { url, port } = server
  return {
    url,
    leave: () => server.close(),
    async come() {
      server = await httpEndpoint(answer, { port })
    },
  }
}

/** A program and a server by HTTP that can fall together, beside one that stays. */
async function openFlapping(settings: Record<string, unknown>) {
  const passing = await passingServer()
  const servers = (short: string) => ({
    far: { url: passing.url, era: 'legacy' },
    near: { ...program(ILL_SERVER), era: 'legacy' },
    calm: { ...program(ILL_SERVER), era: 'legacy', tools: { echo: { short } } },
  })
  const fixture = await openFixture({ mcpServers: servers('At first.'), settings })
  const pidOf = async () => (await fixture.status('near'))?.pids[0] ?? 0
  const connections = async () => (await fixture.status('far'))?.connections
  return {
    fixture,
    /** Has something else said of the one that stays. */
    async describe(short: string) {
      const config = JSON.stringify({ mcpServers: servers(short), settings })
      await writeFile(join(fixture.dir, 'quartermaster.config.json'), config)
      await fixture.control('reload')
    },
    /** Both fall, and are there again. */
    async fall() {
      const pid = await pidOf()
      process.kill(pid, 'SIGKILL')
      await passing.leave()
      await expect.poll(connections, PATIENT).toBe(0)
      await expect.poll(async () => [0, pid].includes(await pidOf()), PATIENT).toBe(false)
      await passing.come()
      await expect.poll(connections, PATIENT).toBe(1)
    },
  }
}

interface Heard {
  /** What was said of the one that stays. */
  readonly calm: string
  /** Which of the others were listed. */
  readonly others: string
}

/** What clients of every kind list whenever they are told to list again. */
async function watchingClients(fixture: UpstreamFixture): Promise<Heard[][]> {
  const heard: Heard[][] = [[], [], []]
  const hear = (at: number): ClientOptions => {
    const onChanged = (_error: unknown, tools: Tool[] | null) => {
      const named = new Map(tools?.map(tool => [tool.name, tool]))
      const others = BOTH.split(' ').filter(name => named.has(name))
      heard[at]?.push({ calm: named.get('calm_echo')?.description ?? '', others: others.join(' ') })
    }
    return { listChanged: { tools: { debounceMs: 0, onChanged } } }
  }
  await fixture.connect('auto', hear(0))
  await fixture.connect('legacy', hear(1))
  await connectClient(fixture.dir, 'auto', hear(2))
  return heard
}

/** What clients hear while both fall again and again, until both are listed. */
async function heardWith(settings: Record<string, unknown>): Promise<Heard[][]> {
  const { fixture, describe, fall } = await openFlapping(settings)
  const heard = await watchingClients(fixture)
  /** Whatever else there was to be told by now has been told to all when this has. */
  const tell = async (calm: string) => {
    await describe(calm)
    await expect.poll(() => heard.every(list => list.at(-1)?.calm === calm), PATIENT).toBe(true)
  }
  const areListed = () => heard.every(list => list.at(-1)?.others === BOTH)
  await tell('Before.')
  await expect.poll(areListed, PATIENT).toBe(true)
  for (const list of heard) list.length = 0
  for (const time of FALLS) {
    await fall()
    await tell(time)
  }
  await expect.poll(areListed, PATIENT).toBe(true)
  await tell('After.')
  return heard
}

const listedBetween = (list: readonly Heard[]) =>
  FALLS.slice(1).map(time => list.find(({ calm }) => calm === time)?.others)
/** How often they were told, beside what was said of the one that stays. */
const newsIn = (list: readonly Heard[]) => list.length - FALLS.length - 1

describe('a program and a server by HTTP that come and go', () => {
  it('stay listed or are listed again once stable, and clients receive no other notification', async () => {
    const [usual, hasty] = await Promise.all([heardWith({}), heardWith({ recoveringSeconds: 0 })])
    for (const list of usual) expect(listedBetween(list)).toEqual([BOTH, BOTH, BOTH])
    expect(Math.max(...usual.map(newsIn))).toBeLessThanOrEqual(0)
    for (const list of hasty) expect(listedBetween(list)).toEqual(['', '', ''])
    // They go, come, and go once more. From then on they have to stay for five seconds.
    expect(Math.max(...hasty.map(newsIn))).toBeLessThanOrEqual(4)
    for (const list of [...usual, ...hasty]) expect(list.at(-1)).toEqual({ calm: 'After.', others: BOTH })
  })
})
