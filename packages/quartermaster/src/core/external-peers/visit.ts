import { type ActivityRow, isAppError, messageOf } from '../../contracts/index.ts'
import { isOpen } from '../delegation/index.ts'
import { askerWords } from './asker-words.ts'
import { plainLine } from './card-words.ts'
import { createHearing, type Heard } from './hearing.ts'
import { type HeldTask, LeaseLost } from './held-task.ts'
import type { Errand, Matter, Next, Quiet, VisitDeps } from './matter.ts'
import { outgoingParts } from './outgoing-message.ts'
import { retryAfter } from './pace.ts'
import { RemoteFailure, type RemoteMessage } from './ports.ts'
import { createReporting } from './reporting.ts'
import { FORGOTTEN, LEFT_ALONE, notLetIn, notTaken } from './visit-words.ts'

/** After as many failures of the other side itself it is given up; one that is not there is waited for until the deadline. */
const MOST_BROKEN = 8
/** That nobody wants a task any more is said this often to one that does not answer. */
const MOST_CANCELS = 6

/** Takes a task one step further. Each begins with what is on record, so that it does not matter who made the one before. */
export function createVisit(deps: VisitDeps): (held: HeldTask, quiet: Quiet) => Promise<Next> {
  const { store, random, log, remote, peers, delegations, messages, attachments } = deps
  const { workspaces } = deps.organisation
  const { hear } = createHearing(deps)
  const { known, spoken, end, drop } = createReporting(deps)

  async function step(held: HeldTask, quiet: Quiet): Promise<Next> {
    const { id, organisation, peerId } = held.row
    const signal = held.stirred()
    const [task, peer] = await Promise.all([store.get('delegations', id), workspaces.find(organisation, peerId)])
    if (!task || !peer) return drop(held)
    try {
      const reached = await peers.placeOf(peerId)
      if (!reached) return await drop(held)
      const matter: Matter = { ...reached, held, task, peer, signal }
      return await (isOpen(task.state) ? further(matter, quiet) : stop(matter))
    } catch (error) {
      if (error instanceof LeaseLost || held.gone.aborted) throw error
      // Cut off for something that counts more, or ended by others meanwhile: the next step sees to it.
      if (signal.aborted || (isAppError(error) && error.code === 'DELEGATION_ENDED')) return 0
      return troubled({ held, task, peer }, error)
    }
  }

  async function further(matter: Matter, quiet: Quiet): Promise<Next> {
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

  /** What the asker has said goes to the task there. */
  async function answer(matter: Matter, words: ActivityRow, quiet: Quiet): Promise<Next> {
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

  /** Sends a message, and hears what is told after it. */
  async function say(
    matter: Matter,
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

  async function follow(matter: Matter, quiet: Quiet): Promise<Next> {
    const { held, place, signal } = matter
    const id = held.row.remoteId ?? ''
    if (matter.streaming && quiet.isAsked !== true && quiet.isWaiting !== true) {
      // One that is over is not told of any more, but whoever asks gets an answer.
      const heard = await unlessUnsupported(hear(matter, until => remote.subscribe(place, id, until)))
      if (heard) return afterStream(matter, heard, { quiet })
    }
    const now = await remote.get(place, id, signal)
    if (held.row.attempts > 0) await held.save({ attempts: 0, trouble: null })
    return known(matter, now, quiet)
  }

  /** What a stream has told is all there is, unless the agent can be asked for the whole. */
  async function afterStream(
    matter: Matter,
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

  /** Nobody wants it any more. One that is over there, or cannot be cancelled, is as good as cancelled here. */
  async function stop({ held, task, place }: Matter): Promise<Next> {
    if (task.state !== 'completed' && held.row.remoteId !== null)
      await remote.cancel(place, held.row.remoteId, held.gone).catch(error => {
        if (!(error instanceof RemoteFailure) || ABSENT.has(error.trouble)) throw error
      })
    return drop(held)
  }

  /** What is to be done after something went wrong. */
  async function troubled(errand: Errand, error: unknown): Promise<Next> {
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
/** What is said in a stream that was only listened to is about the task. */
const ABOUT_TASK: RemoteMessage = { messageId: 'heard', parts: [], taskId: 'heard' }

async function unlessUnsupported(work: Promise<Heard>): Promise<Heard | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof RemoteFailure && error.trouble === 'unsupported') return undefined
    throw error
  }
}

/** Whether trying again is of no use. */
function isLost(trouble: string, attempts: number): boolean {
  return !ABSENT.has(trouble) || (trouble === 'broken' && attempts >= MOST_BROKEN)
}

/** Why it is given up, for the asker. */
function lostWords(trouble: string, why: string, peer: string): string {
  if (trouble === 'unknownTask') return FORGOTTEN
  return trouble === 'unauthorized' ? notLetIn(peer, why) : why
}
