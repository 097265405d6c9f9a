import { describe, expect, it } from 'vitest'
import { createIds } from '../../adapters/system/index.ts'
import { AppError, DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import { clockOf, createLife, type Life, storageOf } from '../../testing/simulation/node.ts'
import { type AnyTool, type CallContext, defineEffect } from '../catalogue/index.ts'
import type { Write } from '../store/index.ts'
import { recoverAfterCrash } from './index.ts'

/** Where a process dies: at a commit, before it is written or right after, or around what the tool does outside. */
const POINTS = {
  'before the record': { at: isRecord, when: 'before' },
  'after the record': { at: isRecord, when: 'after' },
  'before a grant is used up': { at: usesGrant, when: 'before' },
  'after a grant is used up': { at: usesGrant, when: 'after' },
  'before the effect': { at: 'effect', when: 'before' },
  'after the effect': { at: 'effect', when: 'after' },
  'before the end is stored': { at: isEnd, when: 'before' },
  'after the end is stored': { at: isEnd, when: 'after' },
} as const

/** The same for a call whose work can be looked at and that fails at first. */
const LATER_POINTS = {
  'before what it is to leave behind is kept': { at: keepsEffects, when: 'before' },
  'after what it is to leave behind is kept': { at: keepsEffects, when: 'after' },
  'before it is put off': { at: isDelay, when: 'before' },
  'after it is put off': { at: isDelay, when: 'after' },
  'before it is taken from the queue': { at: isTaking, when: 'before' },
  'after it is taken from the queue': { at: isTaking, when: 'after' },
} as const

type Point = (typeof POINTS)[keyof typeof POINTS] | (typeof LATER_POINTS)[keyof typeof LATER_POINTS]

function isRecord(writes: readonly Write[]): boolean {
  return writes.some(write => write.kind === 'insert' && write.table === 'operations')
}
function usesGrant(writes: readonly Write[]): boolean {
  return writes.some(write => write.kind === 'update' && write.table === 'grants' && write.set.usedBy !== undefined)
}
function isEnd(writes: readonly Write[]): boolean {
  return writes.some(
    write => write.kind === 'update' && write.table === 'operations' && typeof write.set.endedAt === 'number',
  )
}

function keepsEffects(writes: readonly Write[]): boolean {
  return changes(writes, set => 'sealedEffects' in set && !('state' in set))
}
function isDelay(writes: readonly Write[]): boolean {
  return changes(writes, set => 'state' in set && set.state === 'queued')
}
function isTaking(writes: readonly Write[]): boolean {
  return changes(writes, set => 'state' in set && set.state === 'leased')
}
function changes(writes: readonly Write[], isMeant: (set: object) => boolean): boolean {
  return writes.some(write => write.kind === 'update' && write.table === 'operations' && isMeant(write.set))
}

interface World {
  readonly shared: ReturnType<typeof memoryStorage>
  readonly clock: FakeClock
  /** What was done outside, by operation. */
  readonly done: string[]
  /** The operations whose ends were told. */
  readonly told: string[]
  /** How many runs fail before they have done anything. */
  failures: number
}

function createWorld(failures = 0): World {
  return { shared: memoryStorage(), clock: createFakeClock(), done: [], told: [], failures }
}

/** A process, which dies at a point when one is given. */
async function start(world: World, tool: Partial<AnyTool>, point?: Point) {
  const { shared, clock, done, told } = world
  const life = createLife()
  const ids = createIds()
  await recoverAfterCrash({ store: shared.store, clock, ids, random: () => 0.5, settings: DEFAULT_SETTINGS })
  const seen = defineEffect({ kind: 'seen', fields: ['id'], look: async ({ id }) => done.includes(String(id)) })
  const handler = async (_: unknown, { operationId }: CallContext) => {
    if (world.failures-- > 0) throw new AppError('DEPENDENCY_UNAVAILABLE', 'It is closed.')
    await dieAt(point, 'effect', 'before', life)
    done.push(operationId)
    await dieAt(point, 'effect', 'after', life)
    return 'done'
  }
  const change = simpleTool('change', { mutates: true, ...tool, handler: handler as never })
  const capability = simpleCapability('main', [change], {
    effectKinds: [seen],
    consentOperations: [{ name: 'world.change', reason: 'It changes the world.', weight: 'low' }],
  })
  const hub = await createHub({
    units: { main: { capabilities: [capability] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage: storageOf(shared, life, dyingWay(point, life)),
    clock: clockOf(clock, life),
    ids,
    tellEnd: ({ id }) => void told.push(id),
  })
  hub.work()
  return { ...hub, life }
}

async function dieAt(point: Point | undefined, at: Point['at'], when: 'before' | 'after', life: Life): Promise<void> {
  if (point?.at === at && point.when === when) life.end()
  await life.awake()
}

function dyingWay(point: Point | undefined, life: Life) {
  const isHere = (writes: readonly Write[]) => typeof point?.at === 'function' && point.at(writes)
  return {
    fault: () => 'none' as const,
    error: () => new Error('none'),
    bend(writes: readonly Write[]) {
      // Dead before it is written: nothing of it is.
      if (point?.when !== 'before' || !isHere(writes)) return writes
      life.end()
      return [{ kind: 'mustExist', table: 'tokens', where: { id: 'none' } } as Write]
    },
    onWritten(writes: readonly Write[]) {
      if (point?.when === 'after' && isHere(writes)) life.end()
    },
  }
}

async function finish({ clock }: World): Promise<void> {
  for (let i = 0; i < 60; i++) await clock.breathe()
}

/** Calls in a process that dies, has another one come, and tells what became of it. */
async function liveThrough(point: Point, tool: Partial<AnyTool>) {
  const world = createWorld()
  const first = await start(world, tool, point)
  void first.callAs('ada', 'change').catch(() => {})
  await finish(world)
  await allowAll(world, first)
  const second = await start(world, tool)
  await finish(world)
  await allowAll(world, second)
  await world.clock.advance(3_600_000)
  const [row] = await world.shared.store.find('operations', {})
  return { row, times: world.done.length, grants: await world.shared.store.find('grants', {}) }
}

async function allowAll(world: World, hub: Awaited<ReturnType<typeof start>>): Promise<void> {
  const open = await world.shared.store.find('approvals', { where: { state: 'open' } })
  const once = { decision: 'allow', lasting: 'once' } as const
  for (const { id } of open)
    void hub
      .consentServices('default')
      .answer(id, once, { name: 'owner', via: 'owner' })
      .catch(() => {})
  await finish(world)
}

type PointName = keyof typeof POINTS

/** What becomes of a tool that must not be repeated: `none` where nothing is on record, and nothing was done. */
const UNREPEATED: Readonly<Record<PointName, string>> = {
  'before the record': 'none',
  'after the record': 'unknown',
  'before a grant is used up': 'succeeded',
  'after a grant is used up': 'succeeded',
  'before the effect': 'unknown',
  'after the effect': 'unknown',
  'before the end is stored': 'unknown',
  'after the end is stored': 'succeeded',
}

/** The same where a person allowed it once: before its grant is used up it has not begun, and begins in the next process. */
const ALLOWED_ONCE: Readonly<Record<PointName, string>> = {
  ...UNREPEATED,
  'after the record': 'succeeded',
  'after a grant is used up': 'unknown',
}

const points = Object.entries(POINTS) as [PointName, Point][]
const recorded = points.filter(([name]) => name !== 'before the record')
const stateOf = (row: { state: string } | undefined) => row?.state ?? 'none'

describe.each(points)('a process that is killed %s', (name, point) => {
  it('runs what must not be repeated once at most, and reports an unknown outcome', async () => {
    const { row, times } = await liveThrough(point, { retry: 'manual' })
    expect(stateOf(row)).toBe(UNREPEATED[name])
    expect(times).toBeLessThanOrEqual(1)
  })

  it('lets what a person allowed once be done once at most, and nothing of it be silent', async () => {
    const { row, times, grants } = await liveThrough(point, { retry: 'manual', consent: ['world.change'] })
    expect(stateOf(row)).toBe(ALLOWED_ONCE[name])
    expect(times).toBeLessThanOrEqual(1)
    expect(grants.length).toBeLessThanOrEqual(1)
    expect(row?.tellAt ?? null).toBeNull()
  })
})

describe.each(recorded)('a process that is killed %s', (_, point) => {
  it('has what may be repeated done by the next', async () => {
    const { row, times } = await liveThrough(point, { retry: 'replay', idempotent: true })
    expect(stateOf(row)).toBe('succeeded')
    expect(times).toBeGreaterThanOrEqual(1)
  })

  it('has what can be looked at done exactly once', async () => {
    const effects = [{ name: 'it', kind: 'seen', id: '{operationId}' }]
    const { row, times } = await liveThrough(point, { retry: 'verifyFirst', idempotent: true, effects })
    expect(stateOf(row)).toBe('succeeded')
    expect(times).toBe(1)
  })
})

const RETRIED = [
  ['may be repeated', { retry: 'replay', idempotent: true }],
  [
    'can be looked at',
    { retry: 'verifyFirst', idempotent: true, effects: [{ name: 'it', kind: 'seen', id: '{operationId}' }] },
  ],
] as const
const laterPoints = Object.entries(LATER_POINTS)
const later = RETRIED.flatMap(([what, tool]) =>
  laterPoints.flatMap(([name, point]) =>
    point.at === keepsEffects && tool.retry === 'replay' ? [] : [[name, what, point, tool] as const],
  ),
)

it.each(later)('a process that is killed %s leaves what %s to be done once by the next', async (_, __, point, tool) => {
  const world = createWorld(1)
  const { life, callAs } = await start(world, tool, point)
  void callAs('ada', 'change').catch(() => {})
  await finish(world)
  await world.clock.advance(60_000)
  expect(life.isOver()).toBe(true)
  await start(world, tool)
  await world.clock.advance(600_000)
  const [row] = await world.shared.store.find('operations', {})
  expect([stateOf(row), world.done]).toEqual(['succeeded', [row?.id]])
  expect(world.told).toEqual([row?.id])
})

describe('a process that is killed after the answer is sent', () => {
  it.each([
    ['has nobody told again who has had it for a second', 0, 1_000, 0],
    ['has the next tell what it sent at that moment: twice is better than never', 0, 0, 1],
    ['has the next do what it put off, and tell of it once', 1, 0, 1],
  ] as const)('%s', async (_, failures, laterMs, told) => {
    const world = createWorld(failures)
    const tool = { retry: 'replay', idempotent: true } as const
    const first = await start(world, tool)
    const { operationId, waiting } = await first.callAs('ada', 'change')
    await world.clock.advance(laterMs)
    first.life.end()
    await start(world, tool)
    await world.clock.advance(600_000)
    expect(waiting !== undefined).toBe(failures > 0)
    expect(await world.shared.store.get('operations', operationId)).toMatchObject({ state: 'succeeded', tellAt: null })
    expect([world.done.length, world.told.length]).toEqual([1, told])
  })
})

it('a process that is killed before the record has done nothing, whatever the tool', async () => {
  const point = POINTS['before the record']
  const { row, times } = await liveThrough(point, { retry: 'replay', idempotent: true })
  expect([row, times]).toEqual([undefined, 0])
})
