import { type ActivityRow, isAppError, messageOf } from '../../contracts/index.ts'
import { isOpen, type PeerWords } from '../delegation/index.ts'
import { canonicalJson } from '../kernel/index.ts'
import {
  fitMessage,
  followStream,
  outgoingParts,
  resultParts,
  type StreamResult,
  storeContent,
  textOf,
} from './follow-stream.ts'
import { RemoteFailure, type RemoteMessage, type RemotePart, type RemoteStatus, type RemoteTask } from './ports.ts'
import {
  type LeasedTask,
  type Next,
  type PollState,
  pollDelay,
  type ReachedTask,
  retryAfter,
  type TaskDeps,
  WAITING_POLL_MS,
} from './task.ts'
import { type HeldTask, LeaseLost } from './task-lease.ts'
import {
  CANCEL_FAILED,
  credentialsRejected,
  failureWords,
  messageRejected,
  NO_QUESTION,
  NO_RESULT,
  needsLogin,
  plainLine,
  popMessages,
  TASK_UNKNOWN,
  waitingMessages,
} from './wording.ts'

/** After this many failures of the remote agent itself the task fails; an unreachable agent is retried until the deadline. */
const MOST_BROKEN = 8
/** How often a cancellation is sent to an unresponsive agent. */
const MOST_CANCELS = 6

/** Advances a task by one step. Each step starts from the stored state, so any process can make the next. */
export function createTaskAttempt(deps: TaskDeps): (held: HeldTask, polls: PollState) => Promise<Next> {
  const { store, random, log, remote, peers, delegations, messages, attachments } = deps
  const { workspaces } = deps.organisation
  const { reportTask, reportMessage, end, drop } = createReporting(deps)

  async function step(held: HeldTask, polls: PollState): Promise<Next> {
    const { id, organisation, peerId } = held.row
    const signal = held.wakeSignal()
    const [task, peer] = await Promise.all([store.get('delegations', id), workspaces.find(organisation, peerId)])
    if (!task || !peer) return drop(held)
    try {
      const reached = await peers.addressOf(peerId)
      if (!reached) return await drop(held)
      const attempt: ReachedTask = { ...reached, held, task, peer, signal }
      return await (isOpen(task.state) ? advance(attempt, polls) : stop(attempt))
    } catch (error) {
      if (error instanceof LeaseLost || held.gone.aborted) throw error
      // Interrupted by a local event, or ended by others meanwhile: the next step handles it.
      if (signal.aborted || (isAppError(error) && error.code === 'DELEGATION_ENDED')) return 0
      return handleFailure({ held, task, peer }, error)
    }
  }

  async function advance(attempt: ReachedTask, polls: PollState): Promise<Next> {
    const { held, task, peer } = attempt
    if (held.row.remoteId === null) {
      const parts = await outgoingParts(attachments, peer, {
        text: task.task,
        parts: task.parts,
        files: task.attachments,
      })
      return sendMessage(attempt, { messageId: task.messageId, parts, hops: task.hops }, polls)
    }
    const [words] = await waitingMessages(store, task)
    return words ? answer(attempt, words, polls) : follow(attempt, polls)
  }

  /** Sends the asker's message to the remote task. */
  async function answer(attempt: ReachedTask, words: ActivityRow, polls: PollState): Promise<Next> {
    const { held, peer, task } = attempt
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
    const acknowledge = async () => {
      if (polls.asked !== undefined) polls.answered = polls.asked
      await messages.inbox.pop(peer, words.id)
    }
    try {
      return await sendMessage(attempt, message, polls, acknowledge)
    } catch (error) {
      if (!(error instanceof RemoteFailure) || (error.trouble !== 'unsupported' && error.trouble !== 'refused'))
        throw error
      await acknowledge()
      const text = messageRejected(peer.workspace, error.message)
      await delegations.reply(peer, task.id, {
        message: text,
        outcome: 'in_progress',
        idempotencyKey: `${words.id}:refused`,
      })
      return 0
    }
  }

  /** Sends a message and processes the response or stream. */
  async function sendMessage(
    attempt: ReachedTask,
    message: RemoteMessage,
    polls: PollState,
    acknowledge = async (): Promise<unknown> => undefined,
  ): Promise<Next> {
    const { held, place } = attempt
    if (attempt.streaming && polls.isPolled !== true) {
      const streamed = await unlessUnsupported(
        followStream(deps, attempt, signal => remote.stream(place, message, signal), acknowledge),
      )
      if (streamed) return afterStream(attempt, streamed, { message, polls })
      polls.isPolled = true
    }
    const answer = await remote.send(place, message, held.gone)
    if ('task' in answer)
      await held.save({ remoteId: answer.task.id, contextId: answer.task.contextId, attempts: 0, trouble: null })
    await acknowledge()
    return 'task' in answer ? reportTask(attempt, answer.task, polls) : reportMessage(attempt, answer.message, message)
  }

  async function follow(attempt: ReachedTask, polls: PollState): Promise<Next> {
    const { held, place, signal } = attempt
    const id = held.row.remoteId ?? ''
    if (attempt.streaming && polls.isPolled !== true && polls.isWaiting !== true) {
      // Agents do not stream finished tasks, but answer a query.
      const streamed = await unlessUnsupported(followStream(deps, attempt, until => remote.subscribe(place, id, until)))
      if (streamed) return afterStream(attempt, streamed, { polls })
    }
    const now = await remote.get(place, id, signal)
    if (held.row.attempts > 0) await held.save({ attempts: 0, trouble: null })
    return reportTask(attempt, now, polls)
  }

  /** The streamed content is used only if the agent cannot be queried for the whole task. */
  async function afterStream(
    attempt: ReachedTask,
    streamed: StreamResult,
    { message, polls }: { message?: RemoteMessage; polls: PollState },
  ): Promise<Next> {
    const { held, place, signal } = attempt
    if ('message' in streamed) return reportMessage(attempt, streamed.message, message ?? ABOUT_TASK)
    if (signal.aborted) return 0
    const id = held.row.remoteId
    if (id === null) throw new RemoteFailure('broken', 'The agent ended its response without a task or a message.')
    const now = await remote.get(place, id, signal).catch(error => {
      if (streamed.task && error instanceof RemoteFailure && error.trouble === 'unknownTask') return streamed.task
      throw error
    })
    return reportTask(attempt, now, polls)
  }

  /** The asker cancelled the task. A remote task that is finished or cannot be cancelled counts as cancelled here. */
  async function stop({ held, task, place }: ReachedTask): Promise<Next> {
    if (task.state !== 'completed' && held.row.remoteId !== null)
      await remote.cancel(place, held.row.remoteId, held.gone).catch(error => {
        if (!(error instanceof RemoteFailure) || UNAVAILABLE.has(error.trouble)) throw error
      })
    return drop(held)
  }

  /** Handles a failed step. */
  async function handleFailure(leased: LeasedTask, error: unknown): Promise<Next> {
    const { held, task, peer } = leased
    const attempts = held.row.attempts + 1
    const why = plainLine(messageOf(error), 1_000)
    const trouble = error instanceof RemoteFailure ? error.trouble : undefined
    const facts = { task: task.id, peer: peer.workspace, error: why }
    if (trouble === undefined) log.warn('a step of a task for an external peer failed and is retried', facts)
    if (!isOpen(task.state) && attempts >= MOST_CANCELS) {
      log.warn(CANCEL_FAILED, facts)
      return drop(held)
    }
    if (isOpen(task.state) && trouble !== undefined && isPermanent(trouble, attempts))
      return end(leased, { message: failureReason(trouble, why, peer.workspace), outcome: 'failed' })
    await held.save({ attempts, trouble: why })
    if (trouble !== undefined && UNAVAILABLE.has(trouble)) await peers.checkSoon(peer.id)
    return retryAfter(attempts, random, error instanceof RemoteFailure ? error.retryAfterMs : undefined)
  }

  return step
}

const UNAVAILABLE: ReadonlySet<string> = new Set(['unreachable', 'broken', 'busy'])
/** The message reference for a stream that was only subscribed to. */
const ABOUT_TASK: RemoteMessage = { messageId: 'subscribed', parts: [], taskId: 'subscribed' }

async function unlessUnsupported(work: Promise<StreamResult>): Promise<StreamResult | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof RemoteFailure && error.trouble === 'unsupported') return undefined
    throw error
  }
}

/** Whether retrying is pointless. */
function isPermanent(trouble: string, attempts: number): boolean {
  return !UNAVAILABLE.has(trouble) || (trouble === 'broken' && attempts >= MOST_BROKEN)
}

/** Why the task failed, for the asker. */
function failureReason(trouble: string, why: string, peer: string): string {
  if (trouble === 'unknownTask') return TASK_UNKNOWN
  return trouble === 'unauthorized' ? credentialsRejected(peer, why) : why
}

/** Stores what a remote agent reports about its task. */
function createReporting({ store, digest, outbox, delegations, attachments }: TaskDeps) {
  async function reportTask(leased: LeasedTask, now: RemoteTask, polls: PollState): Promise<Next> {
    const { task, peer } = leased
    const { state, said, mark } = now.status
    // An answer that was sent may not have been read there yet.
    polls.isWaiting = state === 'inputRequired' && mark !== polls.answered
    if (state === 'completed') {
      const words = await storeContent(resultParts(now), { attachments, peer, empty: NO_RESULT })
      return end(leased, { ...words, outcome: 'completed' })
    }
    if (state === 'failed' || state === 'rejected' || state === 'canceled') {
      const words = await storeContent(resultParts(now), { attachments, peer, empty: '' })
      return end(leased, { ...words, message: failureWords(state, words.message), outcome: 'failed' })
    }
    if (state === 'authRequired') {
      // The next step cancels the remote task, like every cancelled task.
      await delegations.reply(peer, task.id, { message: needsLogin(peer.workspace, textOf(said)), outcome: 'failed' })
      return 0
    }
    if (polls.isWaiting) {
      if (polls.asked !== mark) await ask(leased, now.status, now.id)
      polls.asked = mark
      // The answer may already be there.
      return (await waitingMessages(store, task)).length > 0 ? 0 : WAITING_POLL_MS
    }
    await delegations.note(peer, task.id, state === 'inputRequired' ? undefined : textOf(said) || undefined)
    polls.count = polls.last === mark ? polls.count + 1 : 0
    polls.last = mark
    return pollDelay(polls.count)
  }

  /** Its question becomes a message to the asker, who answers it like any other. */
  async function ask({ peer, task }: LeasedTask, status: RemoteStatus, remoteId: string): Promise<void> {
    const words = fitMessage(await storeContent(status.said, { attachments, peer, empty: NO_QUESTION }))
    const idempotencyKey = digest(canonicalJson([remoteId, status.mark, textOf(status.said)]))
    await delegations.reply(peer, task.id, { ...words, named: [], outcome: 'in_progress', idempotencyKey })
  }

  /** A message without a task: the result, or progress if it is about a task. */
  async function reportMessage(leased: LeasedTask, said: readonly RemotePart[], to: RemoteMessage): Promise<Next> {
    const { peer, task } = leased
    const words = await storeContent(said, { attachments, peer, empty: NO_RESULT })
    if (to.taskId === undefined) return end(leased, { ...words, outcome: 'completed' })
    const idempotencyKey = `${to.messageId}:answer`
    await delegations.reply(peer, task.id, { ...fitMessage(words), named: [], outcome: 'in_progress', idempotencyKey })
    return pollDelay(0)
  }

  async function end({ held, peer, task }: LeasedTask, said: PeerWords): Promise<Next> {
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
    await outbox.drop(held.row, task ? popMessages(await waitingMessages(store, task)) : [])
    return 'over'
  }

  return { reportTask, reportMessage, end, drop }
}
