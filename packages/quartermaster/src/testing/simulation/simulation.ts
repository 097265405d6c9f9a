import { silentLog } from '../../adapters/system/index.ts'
import {
  AppError,
  type AuditRow,
  type CallAnswer,
  DEFAULT_SETTINGS,
  isAppError,
  type OperationRow,
  type Table,
} from '../../contracts/index.ts'
import { createCancellation } from '../../core/kernel/index.ts'
import { createPruner, recoverAfterCrash, type StorageAccess } from '../../core/operations/index.ts'
import type { Store, Write } from '../../core/store/index.ts'
import { createFakeClock } from '../fake-clock.ts'
import { createHub, type Hub } from '../hub.ts'
import { memoryStorage } from '../memory-store.ts'
import type { Happened, Happening, Outcome } from './history.ts'
import { clockOf, createLife, type Life, storageOf, type Way } from './node.ts'
import { createPersons } from './persons.ts'
import { createCountedIds, createSeeded } from './seeded.ts'
import { ITEMS, TOOLS, unitOf, type World } from './world.ts'
import { happeningsOf, operationsIn } from './written-operations.ts'

/** A mistake that the checker has to find: in what is written, or in what is read. */
export interface Mistake {
  bend?(writes: readonly Write[]): readonly Write[]
  bendFind?(find: Store['find']): Store['find']
}

export interface SimulationOptions {
  readonly seed: number
  readonly actions?: number
  readonly mistake?: Mistake
}

interface Node {
  readonly name: string
  readonly life: Life
  readonly hub: Hub
  readonly storage: StorageAccess
}

const SETTINGS = {
  retryFirstSeconds: 5,
  consentWaitSeconds: 10,
  approvalHours: 0.25,
  retryMaxAgeMinutes: 15,
  leaseSeconds: 30,
}

/**
 * Two processes on one store, with everything drawn from a seed: calls, faults of the store and of tools, deaths and stops,
 * what persons say and want. At the end everything is left to come to rest. The same seed gives the same history.
 */
export async function simulate({ seed, actions = 40, mistake = {} }: SimulationOptions): Promise<Outcome> {
  const random = createSeeded(seed)
  const clock = createFakeClock()
  const shared = memoryStorage()
  const history: Happening[] = []
  const nodes = new Map<string, Node>()
  const stopping = new Set<string>()
  let generation = 0
  let calls = 0
  /** Ways to go away, of callers that may. */
  const leaving: (() => void)[] = []
  const note = (one: Happened) => void history.push({ at: clock.now(), ...one })
  const world: World = { random, done: new Set(), isOpen: true, isQuiet: false, runs: 0, note }
  const persons = createPersons({ random, store: shared.store, note })

  const wayOf = (node: string): Way => ({
    fault(writes) {
      if (world.isQuiet || !random.chance(0.06)) return 'none'
      note({ kind: 'fault', operations: operationsIn(writes) })
      return random.pick(['lost', 'unseen'] as const)
    },
    error: kind =>
      kind === 'lost'
        ? new AppError('INTERNAL', 'The disk is full. Nothing was written.')
        : new AppError('OUTCOME_UNKNOWN', 'The commit may have happened or not.'),
    bend: mistake.bend ?? (writes => writes),
    onWritten: (writes, rows) => happeningsOf(writes, rows, node).forEach(note),
    onRead(table, where) {
      if (!world.isQuiet && table !== undefined && random.chance(0.01))
        throw new AppError('STORE_BUSY', 'It cannot be read now.')
      noteLook(node, table, where)
    },
    ...(mistake.bendFind ? { bendFind: mistake.bendFind } : {}),
  })

  function noteLook(node: string, table: Table | undefined, where: object): void {
    if (table === 'grants' && 'askedFor' in where) note({ kind: 'looked', node, operation: String(where.askedFor) })
  }

  async function start(place: string): Promise<void> {
    const life = createLife()
    const name = `${place}${generation++}`
    const ids = createCountedIds(`${name}x`)
    const storage = storageOf(shared, life, wayOf(name))
    // A process that finds others' leases behind it waits until they have run out; only a sole owner may take them at once.
    if (nodes.size === 0 && stopping.size === 0) await settleAll(ids, name)
    const hub = await createHub({
      units: { main: unitOf({ node: name, life, world }) },
      agents: { ada: { capabilities: { main: {} } } },
      storage,
      clock: clockOf(clock, life),
      ids,
      random: random.next,
      settings: SETTINGS,
      dependencyOptions: { post: { watchIntervalSeconds: 600 } },
      tellEnd: ({ id, state }) => tell(name, id, state),
    })
    nodes.set(place, { name, life, hub, storage })
    hub.work()
  }

  async function settleAll(ids: ReturnType<typeof createCountedIds>, name: string): Promise<void> {
    const settings = { ...DEFAULT_SETTINGS, ...SETTINGS }
    const { store } = shared
    const noted: Store = {
      ...store,
      async commit(writes) {
        const outcome = await store.commit(writes)
        // A single process knows that no other holds a lease.
        if (outcome.committed) {
          note({ kind: 'renewed', operations: operationsIn(writes), until: 0 })
          happeningsOf(writes, outcome.rows, name).forEach(note)
        }
        return outcome
      },
    }
    await recoverAfterCrash({ store: noted, clock, ids, random: random.next, settings })
  }

  /** The recipient may be out of reach. */
  function tell(node: string, operation: string, state: string): boolean {
    if (!world.isQuiet && random.chance(0.05)) throw new Error('The line broke.')
    if (!world.isQuiet && random.chance(0.05)) return false
    note({ kind: 'told', node, operation, state })
    return true
  }

  function kill(place: string, { name, life }: Node): void {
    life.end()
    nodes.delete(place)
    note({ kind: 'died', node: name })
  }

  /** It comes to its end in its own time; another one may begin meanwhile. */
  function stop(place: string, { name, hub, life }: Node): void {
    nodes.delete(place)
    stopping.add(name)
    life.wake()
    void hub.stop().then(() => {
      stopping.delete(name)
      note({ kind: 'stopped', node: name })
    })
  }

  function call({ name, hub, life }: Node): void {
    const number = ++calls
    const tool = random.pick(TOOLS)
    const item = random.pick(ITEMS)
    const isTask = random.chance(0.15)
    const key = !isTask && random.chance(0.4) ? `${tool}-${item}-${random.below(3)}` : undefined
    note({ kind: 'called', call: number, node: name, tool, item, key, isTask })
    const { signal, cancel } = createCancellation()
    const leave = () => {
      if (life.isOver() || isAnswered) return
      note({ kind: 'left', call: number })
      cancel(new AppError('CANCELLED', 'The caller went away.'))
    }
    if (random.chance(0.2)) leaving.push(leave)
    let isAnswered = false
    const told = (operation: string, said: string) => {
      isAnswered = true
      if (!life.isOver() && !signal.aborted) note({ kind: 'answered', call: number, operation, said })
    }
    let own = ''
    const onRecorded = (id: string) => {
      own = id
      note({ kind: 'recorded', call: number, operation: id })
    }
    const asTask = isTask ? { ttlMs: random.pick([5_000, 3_600_000]) } : undefined
    hub.callAs('ada', tool, { item }, { idempotencyKey: key, onRecorded, asTask, signal }).then(
      (answer: CallAnswer) => told(answer.operationId, answer.waiting ? 'waiting' : 'done'),
      (error: unknown) => told(own, isAppError(error) ? error.code : String(error)),
    )
  }

  async function prune({ storage }: Node): Promise<void> {
    const { store } = await storage.open()
    const pruner = createPruner({ store, clock, log: silentLog, settings: DEFAULT_SETTINGS })
    await pruner.prune().catch(() => {})
  }

  const sleep = ({ name, life }: Node) => {
    life.sleep()
    note({ kind: 'slept', node: name })
  }

  /** What happens how often, of a hundred. */
  const EVENTS: readonly (readonly [number, (node: Node, place: string) => unknown])[] = [
    [36, call],
    [18, ({ hub }) => persons.answer(hub)],
    [4, ({ hub }) => persons.revoke(hub)],
    [4, ({ hub }) => persons.cancel(hub)],
    [3, ({ hub }) => persons.retry(hub)],
    [2, ({ hub }) => persons.verify(hub)],
    [1, ({ hub }) => persons.drop(hub)],
    [4, prune],
    [3, () => leaving.shift()?.()],
    [2, () => (world.isOpen = !world.isOpen)],
    [4, (node, place) => nodes.size > 1 && kill(place, node)],
    [1, (node, place) => nodes.size > 1 && stop(place, node)],
    [3, sleep],
    [2, ({ life }) => life.wake()],
  ]

  async function act(): Promise<void> {
    const [place, node] = random.pick([...nodes])
    let dice = random.next() * 100
    const event = EVENTS.find(([share]) => (dice -= share) < 0)
    if (event) void event[1](node, place)
    else if (dice < 3 && nodes.size < 2) await start(nodes.has('one') ? 'two' : 'one')
    else await clock.advance(random.pick([0, 10, 1_000, 12_000, 40_000]))
    // A few steps only: much is still under way when the next thing happens.
    for (let i = random.below(4); i > 0; i--) await clock.breathe()
  }

  /** No more faults and no more calls: whatever is under way comes to its end, and then so do the processes. */
  async function rest(): Promise<void> {
    world.isQuiet = true
    world.isOpen = true
    for (const { life } of nodes.values()) life.wake()
    // Twice as long as anything waits: the last notification is repeated when no client received it.
    await clock.advance(2 * SETTINGS.retryMaxAgeMinutes * 60_000)
  }

  async function stopAll(): Promise<readonly string[]> {
    for (const [place, node] of nodes) stop(place, node)
    await clock.advance(1_000)
    return [...stopping]
  }

  await start('one')
  await start('two')
  for (let i = 0; i < actions; i++) await act()
  await rest()
  const rows = (await shared.store.find('operations', { limit: 1_000 })) as readonly OperationRow[]
  const audit = (await shared.store.find('audit', { limit: 1_000 })) as readonly AuditRow[]
  return { history, rows, audit, unstopped: await stopAll() }
}
