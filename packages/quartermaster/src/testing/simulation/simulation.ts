import { AppError, type CallAnswer, DEFAULT_SETTINGS, isAppError, type OperationRow } from '../../contracts/index.ts'
import { type AnyTool, defineTool } from '../../core/catalogue/index.ts'
import { settleLeftBehind } from '../../core/operations/index.ts'
import type { Write } from '../../core/store/index.ts'
import { createFakeClock } from '../fake-clock.ts'
import { createHub, type Hub, simpleCapability } from '../hub.ts'
import { memoryStorage } from '../memory-store.ts'
import type { Happening, Outcome } from './history.ts'
import { clockOf, createLife, type Life, storageOf } from './node.ts'
import { createCountedIds, createSeeded, type Seeded } from './seeded.ts'

/** A mistake that the checker has to find. */
export type Bend = (writes: readonly Write[]) => readonly Write[]

export interface SimulationOptions {
  readonly seed: number
  readonly actions?: number
  readonly bend?: Bend
}

interface Node {
  readonly name: string
  readonly life: Life
  readonly hub: Hub
}

const ITEMS = ['a', 'b', 'c']
const SETTINGS = {
  retryFirstSeconds: 5,
  consentWaitSeconds: 10,
  approvalHours: 1,
  retryMaxAgeMinutes: 60,
  leaseSeconds: 30,
}
const OWNER = { name: 'owner', via: 'owner' } as const

/**
 * Two processes on one store, with everything drawn from a seed: calls, faults of the store and of tools, deaths, answers of
 * persons. At the end everything is left to come to rest. The same seed gives the same history.
 */
export async function simulate({ seed, actions = 40, bend = writes => writes }: SimulationOptions): Promise<Outcome> {
  const random = createSeeded(seed)
  const clock = createFakeClock()
  const shared = memoryStorage()
  const history: Happening[] = []
  const nodes = new Map<string, Node>()
  let generation = 0
  let calls = 0
  let isQuiet = false
  const note = (one: Happening) => void history.push(one)

  const way = {
    fault: () => (isQuiet || !random.chance(0.06) ? 'none' : random.pick(['lost', 'unseen'] as const)),
    error: (kind: 'lost' | 'unseen') =>
      kind === 'lost'
        ? new AppError('INTERNAL', 'The disk is full. Nothing was written.')
        : new AppError('OUTCOME_UNKNOWN', 'The commit may have happened or not.'),
    bend,
    onWritten: (writes: readonly Write[]) => {
      for (const write of writes) {
        noteGrant(write)
        noteEnd(write)
        noteAskedAgain(write)
      }
    },
  }

  function noteEnd(write: Write): void {
    if (write.kind !== 'update' || write.table !== 'operations' || typeof write.set.endedAt !== 'number') return
    note({ kind: 'ended', operation: String(write.where.id), state: String(write.set.state) })
  }

  function noteAskedAgain(write: Write): void {
    if (write.kind !== 'update' || write.table !== 'operations' || write.set.state !== 'waitingForApproval') return
    note({ kind: 'askedAgain', operation: String(write.where.id) })
  }

  function noteGrant(write: Write): void {
    if (write.table !== 'grants') return
    if (write.kind === 'update' && write.set.revokedAt !== undefined) note({ kind: 'revoked' })
    if (write.kind !== 'insert' || write.row.decision !== 'allow') return
    const { lasting, askedFor, scope } = write.row
    note({ kind: 'allowed', operation: lasting === 'once' ? String(askedFor) : `item ${scope}`, lasting })
  }

  async function start(name: string): Promise<void> {
    const life = createLife()
    const ids = createCountedIds(`${name}${generation++}x`)
    const own = clockOf(clock, life)
    const storage = storageOf(shared, life, way)
    // A process that finds others' leases behind it waits until they have run out; only a sole owner may take them at once.
    if (nodes.size === 0) {
      const settle = {
        store: shared.store,
        clock,
        ids,
        random: random.next,
        settings: { ...DEFAULT_SETTINGS, ...SETTINGS },
      }
      await settleLeftBehind(settle)
    }
    const hub = await createHub({
      units: { main: { capabilities: [capability(random, { life, note, isQuiet: () => isQuiet })] } },
      agents: { ada: { capabilities: { main: {} } } },
      storage,
      clock: own,
      ids,
      random: random.next,
      settings: SETTINGS,
      tellEnd: ({ id, state }) => note({ kind: 'told', operation: id, state }),
    })
    nodes.set(name, { name, life, hub })
    hub.work()
  }

  function kill({ name, life }: Node): void {
    life.end()
    nodes.delete(name)
    note({ kind: 'died', node: name })
  }

  function call({ hub, life }: Node): void {
    const number = ++calls
    const tool = random.pick(['add', 'set', 'guarded_add', 'guarded_set'])
    const item = random.pick(ITEMS)
    const key = random.chance(0.4) ? `${tool}-${item}-${random.below(3)}` : undefined
    note({ kind: 'called', call: number, tool, item, key })
    const told = (operation: string, said: string) => {
      if (!life.isOver()) note({ kind: 'answered', call: number, operation, said })
    }
    let own = ''
    const onRecorded = (id: string) => {
      own = id
    }
    hub.callAs('ada', tool, { item }, { idempotencyKey: key, onRecorded }).then(
      (answer: CallAnswer) => told(answer.operationId, answer.waiting ? 'waiting' : 'done'),
      (error: unknown) => told(own, isAppError(error) ? error.code : String(error)),
    )
  }

  async function answer({ hub }: Node): Promise<void> {
    const open = await shared.store.find('approvals', { where: { state: 'open' } })
    if (open.length === 0) return
    const { id } = random.pick(open)
    const decision = random.chance(0.75) ? ('allow' as const) : ('deny' as const)
    const lasting = decision === 'allow' ? random.pick(['once', 'time'] as const) : 'once'
    // Some run out before the next try of what they allow.
    const minutes = random.pick([0.05, 5])
    await hub.consentDesk.answer(id, { decision, lasting, minutes }, OWNER).catch(() => {})
  }

  async function revoke({ hub }: Node): Promise<void> {
    await hub.consentDesk.revoke({ agent: 'ada' }, 'owner').catch(() => {})
  }

  async function cancel({ hub }: Node): Promise<void> {
    const waiting = await shared.store.find('operations', {
      where: { state: { in: ['queued', 'waitingForApproval'] } },
    })
    if (waiting.length === 0) return
    await hub.operationDesk.cancel(random.pick(waiting).id).catch(() => {})
  }

  async function act(): Promise<void> {
    const node = random.pick([...nodes.values()])
    const dice = random.next()
    if (dice < 0.4) call(node)
    else if (dice < 0.6) void answer(node)
    else if (dice < 0.64) void revoke(node)
    else if (dice < 0.69) void cancel(node)
    else if (dice < 0.72 && nodes.size > 1) kill(node)
    else if (dice < 0.75) node.life.sleep()
    else if (dice < 0.77) node.life.wake()
    else if (dice < 0.8 && nodes.size < 2) await start(nodes.has('one') ? 'two' : 'one')
    else await clock.advance(random.pick([0, 10, 1_000, 12_000, 40_000]))
    // A few steps only: much is still under way when the next thing happens.
    for (let i = random.below(4); i > 0; i--) await clock.breathe()
  }

  /** No more faults and no more calls: whatever is under way comes to its end. */
  async function rest(): Promise<void> {
    isQuiet = true
    for (const { life } of nodes.values()) life.wake()
    if (nodes.size === 0) await start('last')
    for (let hours = 0; hours < 4; hours++) await clock.advance(3_600_000)
  }

  await start('one')
  await start('two')
  for (let i = 0; i < actions; i++) await act()
  await rest()
  const rows = (await shared.store.find('operations', { limit: 1_000 })) as readonly OperationRow[]
  for (const { life } of nodes.values()) life.end()
  return { history, rows }
}

interface Outside {
  readonly life: Life
  note(one: Happening): void
  isQuiet(): boolean
}

/** Tools that add (twice is two) and set (twice is one), free and with consent, and that fail in all the ways there are. */
function capability(random: Seeded, outside: Outside) {
  const tools = [
    tool('add', { retry: 'manual' }, random, outside),
    tool('set', { idempotent: true, retry: 'replay' }, random, outside),
    tool('guarded_add', { retry: 'manual', consent: ['world.change'] }, random, outside),
    tool('guarded_set', { idempotent: true, retry: 'replay', consent: ['world.change'] }, random, outside),
  ]
  const consentOperations = [
    { name: 'world.change', reason: 'It changes the world.', weight: 'moderate', scope: '{item}' } as const,
  ]
  return simpleCapability('main', tools, { consentOperations })
}

function tool(name: string, facts: Partial<AnyTool>, random: Seeded, { life, note, isQuiet }: Outside): AnyTool {
  const closed = () => new AppError('DEPENDENCY_UNAVAILABLE', 'It is closed.')
  return defineTool({
    name,
    short: 'Changes the world.',
    input: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
    mutates: true,
    ...facts,
    async handler({ item }: { item: string }, { operationId: operation }: { operationId: string }) {
      note({ kind: 'ran', operation, tool: name, item })
      const fails = isQuiet() ? 1 : random.next()
      if (fails < 0.15) throw closed()
      for (let i = isQuiet() ? 0 : random.below(3); i > 0; i--) await new Promise(resolve => setImmediate(resolve))
      await life.awake()
      note({ kind: 'effect', operation, tool: name, item })
      for (let i = isQuiet() ? 0 : random.below(3); i > 0; i--) await new Promise(resolve => setImmediate(resolve))
      await life.awake()
      if (fails < 0.25) throw new AppError('OUTCOME_UNKNOWN', 'The line broke.')
      return 'done'
    },
  } as never) as AnyTool
}
