import { type ActivityRow, isAppError, messageOf } from '../../contracts/index.ts'
import { isOpen, type PeerWords } from '../delegation/index.ts'
import { canonicalJson } from '../kernel/index.ts'
import {
  asMessage,
  createStreamFollower,
  type Heard,
  keepWords,
  outgoingParts,
  resultParts,
  textOf,
} from './follow-stream.ts'
import { RemoteFailure, type RemoteMessage, type RemotePart, type RemoteStatus, type RemoteTask } from './ports.ts'
import {
  lookAfter,
  type Next,
  type Quiet,
  type ReachedTask,
  retryAfter,
  type TaskDeps,
  type TaskInHand,
  WAITING_LOOK_MS,
} from './task.ts'
import { type HeldTask, LeaseLost } from './task-lease.ts'
import {
  ASKS_FOR_MORE,
  askerWords,
  FORGOTTEN,
  failureWords,
  LEFT_ALONE,
  needsLogin,
  notLetIn,
  notTaken,
  plainLine,
  SAID_NOTHING,
  withoutWords,
} from './wording.ts'

/** After this many failures of the remote agent itself the task fails; an unreachable agent is retried until the deadline. */
const MOST_BROKEN = 8
/** How often a cancellation is sent to an unresponsive agent. */
const MOST_CANCELS = 6

/** Advances a task by one step. Each step starts from the stored state, so any process can make the next. */
export function createTaskAttempt(deps: TaskDeps): (held: HeldTask, quiet: Quiet) => Promise<Next> {
  const { store, random, log, remote, peers, delegations, messages, attachments } = deps
  const { workspaces } = deps.organisation
  const { hear } = createStreamFollower(deps)
  const { known, spoken, end, drop } = createReporting(deps)

  async function step(held: HeldTask, quiet: Quiet): Promise<Next> {
    const { id, organisation, peerId } = held.row
    const signal = held.stirred()
    const [task, peer] = await Promise.all([store.get('delegations', id), workspaces.find(organisation, peerId)])
    if (!task || !peer) return drop(held)
    try {
      const reached = await peers.placeOf(peerId)
      if (!reached) return await drop(held)
      const matter: ReachedTask = { ...reached, held, task, peer, signal }
      return await (isOpen(task.state) ? further(matter, quiet) : stop(matter))
    } catch (error) {
      if (error instanceof LeaseLost || held.gone.aborted) throw error
      // Interrupted by a local event, or ended by others meanwhile: the next step handles it.
      if (signal.aborted || (isAppError(error) && error.code === 'DELEGATION_ENDED')) return 0
      return troubled({ held, task, peer }, error)
    }
  }

  async function further(matter: ReachedTask, quiet: Quiet): Promise<Next> {
    const { held, task, peer } = matter
    if (held.row.remoteId === null) {
      const parts = await outgoingParts(attachments, peer, {
        text: task.task,
        parts: task.parts,
        files: task.attachments,
      })
      return say(matter, { messageId: task.messageId, parts, hops: task.hops }, quiet)
    }
    const [words] = await askerWords(store, task)
    return words ? answer(matter, words, quiet) : follow(matter, quiet)
  }

  /** Sends the asker's message to the remote task. */
  async function answer(matter: ReachedTask, words: ActivityRow, quiet: Quiet): Promise<Next> {
    const { held, peer, task } = matter
    const { remoteId, contextId } = held.row
    const parts = await outgoingParts(attachments, peer, {
      text: words.text,
      parts: words.parts,
      files: words.attachments,
    })
    const message = {
      messageId: words.messageId,
      parts,
      taskId: remoteId ?? undefined,
      contextId: contextId ?? undefined,
    }
    const taken = async () => {
      if (quiet.asked !== undefined) quiet.answered = quiet.asked
      await messages.inbox.pop(peer, words.id)
    }
    try {
      return await say(matter, message, quiet, taken)
    } catch (error) {
      if (!(error instanceof RemoteFailure) || (error.trouble !== 'unsupported' && error.trouble !== 'refused'))
        throw error
      await taken()
      const told = notTaken(peer.workspace, error.message)
      await delegations.reply(peer, task.id, {
        message: told,
        outcome: 'in_progress',
        idempotencyKey: `${words.id}:refused`,
      })
      return 0
    }
  }

  /** Sends a message and processes the response or stream. */
  async function say(
    matter: ReachedTask,
    message: RemoteMessage,
    quiet: Quiet,
    taken = async (): Promise<unknown> => undefined,
  ): Promise<Next> {
    const { held, place } = matter
    if (matter.streaming && quiet.isAsked !== true) {
      const heard = await unlessUnsupported(hear(matter, signal => remote.stream(place, message, signal), taken))
      if (heard) return afterStream(matter, heard, { message, quiet })
      quiet.isAsked = true
    }
    const told = await remote.send(place, message, held.gone)
    if ('task' in told)
      await held.save({ remoteId: told.task.id, contextId: told.task.contextId, attempts: 0, trouble: null })
    await taken()
    return 'task' in told ? known(matter, told.task, quiet) : spoken(matter, told.message, message)
  }

  async function follow(matter: ReachedTask, quiet: Quiet): Promise<Next> {
    const { held, place, signal } = matter
    const id = held.row.remoteId ?? ''
    if (matter.streaming && quiet.isAsked !== true && quiet.isWaiting !== true) {
      // Agents do not stream finished tasks, but answer a query.
      const heard = await unlessUnsupported(hear(matter, until => remote.subscribe(place, id, until)))
      if (heard) return afterStream(matter, heard, { quiet })
    }
    const now = await remote.get(place, id, signal)
    if (held.row.attempts > 0) await held.save({ attempts: 0, trouble: null })
    return known(matter, now, quiet)
  }

  /** The streamed content is used only if the agent cannot be queried for the whole task. */
  async function afterStream(
    matter: ReachedTask,
    heard: Heard,
    { message, quiet }: { message?: RemoteMessage; quiet: Quiet },
  ): Promise<Next> {
    const { held, place, signal } = matter
    if ('message' in heard) return spoken(matter, heard.message, message ?? ABOUT_TASK)
    if (signal.aborted) return 0
    const id = held.row.remoteId
    if (id === null) throw new RemoteFailure('broken', 'It has ended its answer without a word.')
    const now = await remote.get(place, id, signal).catch(error => {
      if (heard.task && error instanceof RemoteFailure && error.trouble === 'unknownTask') return heard.task
      throw error
    })
    return known(matter, now, quiet)
  }

  /** The asker cancelled the task. A remote task that is finished or cannot be cancelled counts as cancelled here. */
  async function stop({ held, task, place }: ReachedTask): Promise<Next> {
    if (task.state !== 'completed' && held.row.remoteId !== null)
      await remote.cancel(place, held.row.remoteId, held.gone).catch(error => {
        if (!(error instanceof RemoteFailure) || ABSENT.has(error.trouble)) throw error
      })
    return drop(held)
  }

  /** Handles a failed step. */
  async function troubled(errand: TaskInHand, error: unknown): Promise<Next> {
    const { held, task, peer } = errand
    const attempts = held.row.attempts + 1
    const why = plainLine(messageOf(error), 1_000)
    const trouble = error instanceof RemoteFailure ? error.trouble : undefined
    const facts = { task: task.id, peer: peer.workspace, error: why }
    if (trouble === undefined) log.warn('a task for an external peer is stuck and is tried again', facts)
    if (!isOpen(task.state) && attempts >= MOST_CANCELS) {
      log.warn(LEFT_ALONE, facts)
      return drop(held)
    }
    if (isOpen(task.state) && trouble !== undefined && isLost(trouble, attempts))
      return end(errand, { message: lostWords(trouble, why, peer.workspace), outcome: 'failed' })
    await held.save({ attempts, trouble: why })
    if (trouble !== undefined && ABSENT.has(trouble)) await peers.suspect(peer.id)
    return retryAfter(attempts, random, error instanceof RemoteFailure ? error.retryAfterMs : undefined)
  }

  return step
}

const ABSENT: ReadonlySet<string> = new Set(['unreachable', 'broken', 'busy'])
/** The message reference for a stream that was only subscribed to. */
const ABOUT_TASK: RemoteMessage = { messageId: 'heard', parts: [], taskId: 'heard' }

async function unlessUnsupported(work: Promise<Heard>): Promise<Heard | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof RemoteFailure && error.trouble === 'unsupported') return undefined
    throw error
  }
}

/** Whether retrying is pointless. */
function isLost(trouble: string, attempts: number): boolean {
  return !ABSENT.has(trouble) || (trouble === 'broken' && attempts >= MOST_BROKEN)
}

/** Why the task failed, for the asker. */
function lostWords(trouble: string, why: string, peer: string): string {
  if (trouble === 'unknownTask') return FORGOTTEN
  return trouble === 'unauthorized' ? notLetIn(peer, why) : why
}

/** Stores here what a remote agent reports about its task. */
interface Reporting {
  /** The task as the remote agent reports it now. */
  known(errand: TaskInHand, now: RemoteTask, quiet: Quiet): Promise<Next>
  /** A message without a task: the result, or progress if it is about a task. */
  spoken(errand: TaskInHand, said: readonly RemotePart[], to: RemoteMessage): Promise<Next>
  end(errand: TaskInHand, said: PeerWords): Promise<Next>
  drop(held: HeldTask): Promise<Next>
}

function createReporting({ store, digest, outbox, delegations, attachments }: TaskDeps): Reporting {
  async function known(errand: TaskInHand, now: RemoteTask, quiet: Quiet): Promise<Next> {
    const { task, peer } = errand
    const { state, said, mark } = now.status
    // An answer that was sent may not have been read there yet.
    quiet.isWaiting = state === 'inputRequired' && mark !== quiet.answered
    if (state === 'completed') {
      const words = await keepWords(resultParts(now), { attachments, peer, empty: SAID_NOTHING })
      return end(errand, { ...words, outcome: 'completed' })
    }
    if (state === 'failed' || state === 'rejected' || state === 'canceled') {
      const words = await keepWords(resultParts(now), { attachments, peer, empty: '' })
      return end(errand, { ...words, message: failureWords(state, words.message), outcome: 'failed' })
    }
    if (state === 'authRequired') return giveUp(errand, textOf(said))
    if (quiet.isWaiting) {
      if (quiet.asked !== mark) await ask(errand, now.status, now.id)
      quiet.asked = mark
      // The answer may already be there.
      return (await askerWords(store, task)).length > 0 ? 0 : WAITING_LOOK_MS
    }
    await delegations.note(peer, task.id, state === 'inputRequired' ? undefined : textOf(said) || undefined)
    quiet.count = quiet.last === mark ? quiet.count + 1 : 0
    quiet.last = mark
    return lookAfter(quiet.count)
  }

  /** Failed here; the next step cancels it there, like every cancelled task. */
  async function giveUp({ task, peer }: TaskInHand, said: string): Promise<Next> {
    await delegations.reply(peer, task.id, { message: needsLogin(peer.workspace, said), outcome: 'failed' })
    return 0
  }

  /** Its question becomes a message to the asker, who answers it like any other. */
  async function ask({ peer, task }: TaskInHand, status: RemoteStatus, remoteId: string): Promise<void> {
    const words = asMessage(await keepWords(status.said, { attachments, peer, empty: ASKS_FOR_MORE }))
    const idempotencyKey = digest(canonicalJson([remoteId, status.mark, textOf(status.said)]))
    await delegations.reply(peer, task.id, { ...words, named: [], outcome: 'in_progress', idempotencyKey })
  }

  async function spoken(errand: TaskInHand, said: readonly RemotePart[], to: RemoteMessage): Promise<Next> {
    const { peer, task } = errand
    const words = await keepWords(said, { attachments, peer, empty: SAID_NOTHING })
    if (to.taskId === undefined) return end(errand, { ...words, outcome: 'completed' })
    const idempotencyKey = `${to.messageId}:answer`
    await delegations.reply(peer, task.id, { ...asMessage(words), named: [], outcome: 'in_progress', idempotencyKey })
    return lookAfter(0)
  }

  async function end({ held, peer, task }: TaskInHand, said: PeerWords): Promise<Next> {
    try {
      await delegations.reply(peer, task.id, said)
    } catch (error) {
      if (isAppError(error) && error.code === 'LIMIT_EXCEEDED' && said.outcome === 'completed')
        await delegations.reply(peer, task.id, { message: messageOf(error), outcome: 'failed' })
      else if (!isAppError(error) || error.code !== 'DELEGATION_ENDED') throw error
    }
    return drop(held)
  }

  async function drop(held: HeldTask): Promise<Next> {
    const task = await store.get('delegations', held.row.id)
    await outbox.drop(held.row, task ? withoutWords(await askerWords(store, task)) : [])
    return 'over'
  }

  return { known, spoken, end, drop }
}
