import { describe, expect, it } from 'vitest'
import type { UpstreamStatus } from '../src/contracts/index.ts'
import { createLeanClient } from './support/lean-client.ts'
import { createFootprintScale, type Footprint } from './support/process-footprint.ts'
import { type RudeServer, startRudeServer } from './support/rude-server.ts'
import { ILL_SERVER, openProcessFixture, program, type UpstreamFixture } from './support/upstream-fixture.ts'

const CALLS = 10_000
/** Of programs, and as many servers by HTTP; half of either are of the older era. */
const EACH = 10
/** Of each: the start after the fifth comes after two seconds, the next ones ever later. */
const ROUNDS = 5
const AT_ONCE = 16

/**
 * What may be more afterwards. In the heap: code that was compiled meanwhile, lines of the kept logs, rows of caches that are
 * bounded; one kilobyte that stays of each call of programs, or of servers by HTTP, would be more than this, and so would 100 of
 * each restart of either. Of descriptors and handles: a connection that is just being closed, and the stream of what changes at
 * each server by HTTP, which may not be open again yet when it is measured first.
 */
const SLACK: Footprint = { heap: 4 * 1024 * 1024, descriptors: 2 + EACH, handles: 2 + EACH, threads: 0, children: 0 }

function growth(before: Footprint, after: Footprint): string[] {
  const kinds = Object.keys(SLACK) as (keyof Footprint)[]
  const grown = kinds.filter(kind => after[kind] > before[kind] + SLACK[kind])
  return grown.map(kind => `${kind}: ${before[kind]}, then ${after[kind]}`)
}

const named = (kind: string) => Array.from({ length: EACH }, (_, index) => `${kind}${index}`)
const programs = named('ill')
const servers = named('rude')

const statuses = (fixture: UpstreamFixture) => fixture.control<UpstreamStatus[]>('upstreams')

const ofPrograms = async (fixture: UpstreamFixture) =>
  (await statuses(fixture)).filter(({ name }) => programs.includes(name))

const restartsOf = async (fixture: UpstreamFixture) =>
  (await ofPrograms(fixture)).reduce((sum, { restarts }) => sum + restarts, 0)

/** Resolves when all programs are up, as processes that were not there before. */
async function programsUp(fixture: UpstreamFixture, before: readonly number[] = []): Promise<number[]> {
  let pids: number[] = []
  // One that has just died is still up for a moment, without a process.
  const isNew = (own: readonly number[]) => own.length > 0 && own.every(pid => !before.includes(pid))
  const isUp = ({ state, pids: own }: UpstreamStatus) => state === 'up' && isNew(own)
  await expect
    .poll(
      async () => {
        const all = await ofPrograms(fixture)
        pids = all.flatMap(one => one.pids)
        return all.filter(isUp).length
      },
      { interval: 200 },
    )
    .toBe(EACH)
  return pids
}

/** Resolves when the tools of all of them can be called, which is a moment after they are up for the first time. */
async function allOffered(fixture: UpstreamFixture): Promise<void> {
  const client = createLeanClient(fixture.up.url, await fixture.tokenFor('default'))
  const answers = () =>
    Promise.all([...programs, ...servers].map(name => client.call(`${name}_echo`, { text: 'there?' })))
  const isOffered = async () => (await answers()).every(answer => answer.includes('there?"'))
  await expect.poll(isOffered, { interval: 200 }).toBe(true)
  client.close()
}

async function killAll(fixture: UpstreamFixture): Promise<void> {
  const pids = await programsUp(fixture)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await programsUp(fixture, pids)
}

/** Resolves when those of these names are up again. */
async function killSome(fixture: UpstreamFixture, ...some: string[]): Promise<void> {
  const before = (await statuses(fixture)).filter(({ name }) => some.includes(name)).flatMap(({ pids }) => pids)
  for (const pid of before) process.kill(pid, 'SIGKILL')
  await expect.poll(() => restartsOf(fixture)).toBe(some.length)
  await programsUp(fixture)
}

/** Resolves when servers that were gone are reached again. */
async function restartAll(fixture: UpstreamFixture, rude: readonly RudeServer[]): Promise<void> {
  await Promise.all(rude.map(server => server.restart()))
  const areUp = async () =>
    (await statuses(fixture)).every(({ name, state }) => !servers.includes(name) || state === 'up')
  await expect.poll(areUp, { interval: 200 }).toBe(true)
}

async function callMany(
  fixture: UpstreamFixture,
  count: number,
  toolFor: (call: number) => Expectation,
): Promise<void> {
  const client = createLeanClient(fixture.up.url, await fixture.tokenFor('default'))
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

/** A program and a server in turns. */
const inTurns = (call: number): Expectation =>
  call % 2 === 0 ? { tool: `${programs[(call / 2) % EACH]}_echo` } : rudely(Math.floor(call / 2))

/** Of ten calls two are answered in ways that never end. */
function rudely(call: number): Expectation {
  const upstream = servers[call % EACH]
  const kind = Math.floor(call / EACH) % 10
  if (kind === 1) return { tool: `${upstream}_endless`, expected: 'OUTCOME_UNKNOWN' }
  if (kind === 3) return { tool: `${upstream}_linger` }
  // These take a second each, or the time that the call may take.
  if (call % 500 > 1) return { tool: `${upstream}_echo` }
  return call % 1_000 > 1
    ? { tool: `${upstream}_refuse`, expected: 'UPSTREAM_ERROR' }
    : { tool: `${upstream}_stop`, expected: 'OUTCOME_UNKNOWN' }
}

const politely = (call: number): Expectation => ({ tool: `${servers[call % EACH]}_echo` })

function entriesOf(rude: readonly RudeServer[]): Record<string, unknown> {
  const eras = [
    { ...program(ILL_SERVER), era: 'legacy' },
    { ...program(ILL_SERVER, '--modern'), era: 'modern' },
  ]
  return Object.fromEntries([
    ...programs.map((name, at) => [name, eras[at % eras.length]]),
    ...rude.map(({ url }, at) => [servers[at], { url, tools: { stop: { timeoutMs: 500 } } }]),
  ])
}

describe.runIf(process.platform === 'linux')('10,000 calls and 100 restarts, of programs and by HTTP', () => {
  it('leave no process, thread, connection, descriptor, handle or memory behind', async () => {
    const scale = await createFootprintScale()
    const rude = await Promise.all(servers.map((_, at) => startRudeServer(at % 2 === 0 ? 'legacy' : 'modern')))
    const fixture = await openProcessFixture({ mcpServers: entriesOf(rude), env: scale.env })
    const pid = Number(fixture.up.child.pid)
    await programsUp(fixture)
    await allOffered(fixture)
    // What is made once is made by now.
    await callMany(fixture, 1_000, inTurns)
    await Promise.all([killSome(fixture, 'ill0', 'ill1'), restartAll(fixture, rude)])
    const before = await scale.measure(pid)
    const met = rude.map(server => server.met())
    const grown = async () => growth(before, await scale.measure(pid))
    const patient = { timeout: 15_000, interval: 500 }
    await callMany(fixture, CALLS, inTurns)
    // Already now: what a connection holds is gone with it.
    await expect.poll(grown, patient).toEqual([])
    for (let round = 0; round < ROUNDS; round++) {
      // No caller notices a failing read, whatever happens to the connection.
      const reading = callMany(fixture, 100, politely)
      await Promise.all([killAll(fixture), restartAll(fixture, rude)])
      await reading
    }
    expect(await restartsOf(fixture)).toBe(EACH * ROUNDS + 2)
    // They were connected again each time.
    const meetings = rude.map((server, at) => server.met() - Number(met[at]))
    expect(Math.min(...meetings)).toBeGreaterThanOrEqual(ROUNDS)
    await expect.poll(grown, patient).toEqual([])
    expect(fixture.up.stderr()).not.toContain('MaxListenersExceeded')
    // What is left are the streams of what changes, and a connection that is used again.
    const open = () => Math.max(...rude.map(server => server.open()))
    await expect.poll(open).toBeLessThanOrEqual(3)
  })
})
