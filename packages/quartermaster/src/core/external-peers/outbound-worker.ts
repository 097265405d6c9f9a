import { messageOf, type OutgoingTaskRow } from '../../contracts/index.ts'
import { isOpen } from '../delegation/index.ts'
import { createRounds } from '../kernel/index.ts'
import { type Watchers } from '../messages/index.ts'
import { type Organisation } from '../organisation/index.ts'
import { type ExternalPeers } from './external-peers.ts'
import { type PollState, type TaskDeps } from './task.ts'
import { createTaskAttempt } from './task-attempt.ts'
import { type HeldTask, holdTask, LeaseLost } from './task-lease.ts'
import { waitingMessages } from './wording.ts'

/** Processes every task for remote agents, each independently: an unresponsive agent delays no other. */
export interface OutboundWorker {
  start(): void
  /** The number of followed logs and of tasks in work. */
  counts(): { readonly watched: number; readonly held: number }
  /** Looks for due tasks now. */
  poll(): Promise<void>
  /** Releases all leases. The next worker resumes from the stored state. */
  stop(): Promise<void>
}

interface OutboundWorkerDeps extends TaskDeps {
  readonly peers: Pick<ExternalPeers, 'addressOf' | 'checkSoon' | 'active'>
  readonly watchers: Pick<Watchers, 'watch'>
  readonly organisation: Pick<Organisation, 'workspaces' | 'events'>
  readonly leaseMs: number
}

/** Polling interval for tasks that another process left or accepted. */
const ROUND_MS = 5_000

export function createOutboundWorker(deps: OutboundWorkerDeps): OutboundWorker {
  const { store, clock, log, outbox, peers, watchers, organisation } = deps
  const attemptStep = createTaskAttempt(deps)
  const running = new Map<string, { held: HeldTask; done: Promise<void> }>()
  const watched = new Map<string, () => void>()
  let isStarted = false
  let isStopped = false

  async function poll(): Promise<void> {
    if (!isStarted || isStopped) return
    await watchPeers()
    await takeDue()
  }

  async function takeDue(): Promise<void> {
    for (const row of await outbox.due()) {
      if (isStopped || running.has(row.id)) continue
      const claimed = await outbox.claim(row)
      if (claimed && !isStopped) run(claimed)
    }
  }

  /** Every entry in a peer's log wakes the worker: a new task, an answer, or a cancellation. */
  async function watchPeers(): Promise<void> {
    const ids = new Set((await peers.active()).map(({ id }) => id))
    for (const id of ids)
      if (!isStopped && !watched.has(id))
        watched.set(
          id,
          watchers.watch(id, () => void wakeTasks(id).catch(failed)),
        )
    for (const [id, leave] of watched) {
      if (ids.has(id)) continue
      leave()
      watched.delete(id)
      for (const { held } of heldOf(id)) held.wake()
    }
  }

  async function wakeTasks(peerId: string): Promise<void> {
    if (isStopped) return
    await takeDue()
    for (const { held } of heldOf(peerId)) if (await isWanted(held)) held.wake()
  }

  const heldOf = (peerId: string) => [...running.values()].filter(({ held }) => held.row.peerId === peerId)

  /** A stream is not interrupted for entries about other tasks. */
  async function isWanted({ row }: HeldTask): Promise<boolean> {
    const task = await store.get('delegations', row.id)
    return !task || !isOpen(task.state) || (await waitingMessages(store, task)).length > 0
  }

  function run(claimed: OutgoingTaskRow): void {
    const held = holdTask(claimed, deps)
    const done = processTask(held).finally(() => {
      held.end()
      running.delete(claimed.id)
    })
    running.set(claimed.id, { held, done })
  }

  async function processTask(held: HeldTask): Promise<void> {
    const polls: PollState = { count: 0 }
    try {
      while (!held.gone.aborted) {
        const next = await attemptStep(held, polls)
        if (next === 'over') return
        await held.rest(next)
      }
    } catch (error) {
      if (!(error instanceof LeaseLost) && !held.gone.aborted) failed(error)
    }
    // A lease that cannot be released expires.
    await outbox.release(held.row).catch(() => {})
  }

  function failed(error: unknown): void {
    log.warn('processing the tasks of external peers failed and is retried', { error: messageOf(error) })
  }

  // A task created or removed meanwhile does not wait for the next round.
  const off = organisation.events.on('workspace.changed', () => void poll().catch(failed))
  const rounds = createRounds({ clock, everyMs: ROUND_MS, work: poll, onError: failed })

  return {
    start() {
      if (isStarted) return
      isStarted = true
      rounds.start()
    },
    counts: () => ({ watched: watched.size, held: running.size }),
    poll,
    async stop() {
      isStopped = true
      off()
      for (const leave of watched.values()) leave()
      for (const { held } of running.values()) held.release()
      await rounds.stop()
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
