import { describe, expect, it } from 'vitest'
import type { UpstreamStatus } from '../src/contracts/index.ts'
import { createLeanClient } from './support/lean-client.ts'
import { createFootprintScale, type Footprint } from './support/process-footprint.ts'
import { type RudeServer, startRudeServer } from './support/rude-server.ts'
import { ILL_SERVER, openProcessDesk, program, type UpstreamDesk } from './support/upstream-desk.ts'

const CALLS = 10_000
const UPSTREAMS = 20
/** Of each: the start after the fifth comes after two seconds, the next ones ever later. */
const KILLS = 5
const AT_ONCE = 16

/**
 * What may be more afterwards. In the heap: code that was compiled meanwhile, lines of the kept logs, rows of caches that are
 * bounded; one kilobyte that stays of each call would be twice this, and so would 100 of each restart. Of descriptors and
 * handles: a connection that is just being closed.
 */
const SLACK: Footprint = { heap: 5 * 1024 * 1024, descriptors: 2, handles: 2, threads: 0, children: 0 }

function growth(before: Footprint, after: Footprint, slack = SLACK): string[] {
  const kinds = Object.keys(slack) as (keyof Footprint)[]
  const grown = kinds.filter(kind => after[kind] > before[kind] + slack[kind])
  return grown.map(kind => `${kind}: ${before[kind]}, then ${after[kind]}`)
}

const names = Array.from({ length: UPSTREAMS }, (_, index) => `ill${index}`)

const statuses = (desk: UpstreamDesk) => desk.control<UpstreamStatus[]>('upstreams')

/** Resolves when all of them are up, as processes that were not there before. */
async function allUp(desk: UpstreamDesk, before: readonly number[] = []): Promise<number[]> {
  let pids: number[] = []
  // One that has just died is still up for a moment, without a process.
  const isNew = (own: readonly number[]) => own.length > 0 && own.every(pid => !before.includes(pid))
  const isUp = ({ state, pids: own }: UpstreamStatus) => state === 'up' && isNew(own)
  await expect
    .poll(
      async () => {
        const all = await statuses(desk)
        pids = all.flatMap(one => one.pids)
        return all.filter(isUp).length
      },
      { timeout: 30_000, interval: 200 },
    )
    .toBe(UPSTREAMS)
  return pids
}

/** Resolves when the tools of all of them can be called, which is a moment after they are up for the first time. */
async function allOffered(desk: UpstreamDesk): Promise<void> {
  const client = createLeanClient(desk.up.url, await desk.tokenFor('default'))
  const answers = () => Promise.all(names.map(name => client.call(`${name}_echo`, { text: 'there?' })))
  const isOffered = async () => (await answers()).every(answer => answer.includes('there?"'))
  await expect.poll(isOffered, { timeout: 30_000, interval: 200 }).toBe(true)
  client.close()
}

async function killAll(desk: UpstreamDesk): Promise<void> {
  const pids = await allUp(desk)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await allUp(desk, pids)
}

/** Resolves when those of these names are up again. */
async function killSome(desk: UpstreamDesk, ...some: string[]): Promise<void> {
  const before = (await statuses(desk)).filter(({ name }) => some.includes(name)).flatMap(({ pids }) => pids)
  for (const pid of before) process.kill(pid, 'SIGKILL')
  await expect.poll(async () => (await statuses(desk)).reduce((sum, one) => sum + one.restarts, 0)).toBe(some.length)
  await allUp(desk)
}

async function callMany(desk: UpstreamDesk, count: number, toolFor = echoOf): Promise<void> {
  const client = createLeanClient(desk.up.url, await desk.tokenFor('default'))
  let next = 0
  const worker = async () => {
    for (let call = next++; call < count; call = next++) {
      const text = `call ${call}.`
      const { tool, expected = `"${text}"` } = toolFor(call)
      const answer = await client.call(tool, { text })
      if (!answer.includes(expected)) throw new Error(`${text} was answered with ${answer}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  client.close()
}

interface Expectation {
  readonly tool: string
  /** What its answer has in it; its text when absent. */
  readonly expected?: string
}

const echoOf = (call: number): Expectation => ({ tool: `${names[call % UPSTREAMS]}_echo` })

describe.runIf(process.platform === 'linux')('10,000 calls and 100 restarts of upstreams', () => {
  it('leave no process, thread, descriptor, handle or memory behind', { timeout: 180_000 }, async () => {
    const scale = await createFootprintScale()
    const servers = [
      { ...program(ILL_SERVER), era: 'legacy' },
      { ...program(ILL_SERVER, '--modern'), era: 'modern' },
    ]
    const desk = await openProcessDesk({
      mcpServers: Object.fromEntries(names.map((name, index) => [name, servers[index % servers.length]])),
      env: scale.env,
    })
    const pid = Number(desk.up.child.pid)
    await allUp(desk)
    await allOffered(desk)
    // What is made once is made by now.
    await callMany(desk, 1_000)
    await killSome(desk, 'ill0', 'ill1')
    const before = await scale.measure(pid)
    await callMany(desk, CALLS)
    for (let round = 0; round < KILLS; round++) await killAll(desk)
    const restarts = (await statuses(desk)).reduce((sum, one) => sum + one.restarts, 0)
    expect(restarts).toBe(UPSTREAMS * KILLS + 2)
    const grown = async () => growth(before, await scale.measure(pid))
    await expect.poll(grown, { timeout: 15_000, interval: 500 }).toEqual([])
    expect(desk.up.stderr()).not.toContain('MaxListenersExceeded')
  })
})

const RUDE = 10
const RUDE_RESTARTS = 10
/** The stream of what changes at each may not be open again yet when it is measured first. */
const RUDE_SLACK: Footprint = { ...SLACK, descriptors: SLACK.descriptors + RUDE, handles: SLACK.handles + RUDE }
const rudeNames = Array.from({ length: RUDE }, (_, index) => `rude${index}`)

/** Of ten calls two are answered in ways that never end. */
function rudely(call: number): Expectation {
  const upstream = rudeNames[call % RUDE]
  const kind = Math.floor(call / RUDE) % 10
  if (kind === 1) return { tool: `${upstream}_endless`, expected: 'OUTCOME_UNKNOWN' }
  if (kind === 3) return { tool: `${upstream}_linger` }
  // These take a second each, or the time that the call may take.
  if (call % 1_000 > 1) return { tool: `${upstream}_echo` }
  return call % 2_000 > 1
    ? { tool: `${upstream}_refuse`, expected: 'UPSTREAM_ERROR' }
    : { tool: `${upstream}_stop`, expected: 'OUTCOME_UNKNOWN' }
}

const politely = (call: number): Expectation => ({ tool: `${rudeNames[call % RUDE]}_echo` })

/** Resolves when servers that were gone are reached again. */
async function restarted(desk: UpstreamDesk, servers: readonly RudeServer[]): Promise<void> {
  await Promise.all(servers.map(server => server.restart()))
  const allAreUp = async () => (await statuses(desk)).every(({ state }) => state === 'up')
  await expect.poll(allAreUp, { timeout: 30_000, interval: 200 }).toBe(true)
}

describe.runIf(process.platform === 'linux')(
  '10,000 calls by HTTP with answers that never end, and 100 restarts',
  () => {
    it('leave no connection, descriptor, handle or memory behind', { timeout: 180_000 }, async () => {
      const scale = await createFootprintScale()
      const servers = await Promise.all(rudeNames.map((_, at) => startRudeServer(at % 2 === 0 ? 'legacy' : 'modern')))
      const entries = servers.map(({ url }, at) => [rudeNames[at], { url, tools: { stop: { timeoutMs: 500 } } }])
      const desk = await openProcessDesk({ mcpServers: Object.fromEntries(entries), env: scale.env })
      const pid = Number(desk.up.child.pid)
      await restarted(desk, servers)
      // What is made once is made by now.
      await callMany(desk, 1_000, rudely)
      await restarted(desk, servers)
      const before = await scale.measure(pid)
      const met = servers.map(server => server.met())
      await callMany(desk, CALLS, rudely)
      for (let round = 0; round < RUDE_RESTARTS; round++) {
        // What only reads is felt by nobody, whatever happens to the connection.
        const reading = callMany(desk, 100, politely)
        await restarted(desk, servers)
        await reading
      }
      // Each time they were met anew.
      const meetings = servers.map((server, at) => server.met() - Number(met[at]))
      expect(Math.min(...meetings)).toBeGreaterThanOrEqual(RUDE_RESTARTS)
      const grown = async () => growth(before, await scale.measure(pid), RUDE_SLACK)
      await expect.poll(grown, { timeout: 15_000, interval: 500 }).toEqual([])
      expect(desk.up.stderr()).not.toContain('MaxListenersExceeded')
      // What is left are the streams of what changes, and a connection that is used again.
      const open = () => Math.max(...servers.map(server => server.open()))
      await expect.poll(open, { timeout: 15_000 }).toBeLessThanOrEqual(3)
    })
  },
)
