import { isAppError, messageOf } from '../../contracts/index.ts'
import type { PeerWords } from '../delegation/index.ts'
import { canonicalJson } from '../kernel/index.ts'
import { askerWords, withoutWords } from './asker-words.ts'
import type { HeldTask } from './held-task.ts'
import type { Errand, Next, Quiet, VisitDeps } from './matter.ts'
import { lookAfter, WAITING_LOOK_MS } from './pace.ts'
import type { RemoteMessage, RemotePart, RemoteStatus, RemoteTask } from './ports.ts'
import { asMessage, keepWords, resultParts, textOf } from './remote-result.ts'
import { ASKS_FOR_MORE, failureWords, needsLogin, SAID_NOTHING } from './visit-words.ts'

/** Puts on record here what an agent elsewhere says of its task. */
export interface Reporting {
  /** What the task is now, as whoever does it says. */
  known(errand: Errand, now: RemoteTask, quiet: Quiet): Promise<Next>
  /** Words and no task: all there is, or where they are about a task, words on the way. */
  spoken(errand: Errand, said: readonly RemotePart[], to: RemoteMessage): Promise<Next>
  end(errand: Errand, said: PeerWords): Promise<Next>
  drop(held: HeldTask): Promise<Next>
}

export function createReporting({ store, digest, outbox, delegations, attachments }: VisitDeps): Reporting {
  async function known(errand: Errand, now: RemoteTask, quiet: Quiet): Promise<Next> {
    const { task, peer } = errand
    const { state, said, mark } = now.status
    // One that was answered may not have been read there yet.
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
      // An answer may have come before anybody waits for it.
      return (await askerWords(store, task)).length > 0 ? 0 : WAITING_LOOK_MS
    }
    await delegations.note(peer, task.id, state === 'inputRequired' ? undefined : textOf(said) || undefined)
    quiet.count = quiet.last === mark ? quiet.count + 1 : 0
    quiet.last = mark
    return lookAfter(quiet.count)
  }

  /** Ended here, it is cancelled there by the next step, like whatever else nobody waits for. */
  async function giveUp({ task, peer }: Errand, said: string): Promise<Next> {
    await delegations.reply(peer, task.id, { message: needsLogin(peer.workspace, said), outcome: 'failed' })
    return 0
  }

  /** Its question is a message to the asker, who answers it like any other. */
  async function ask({ peer, task }: Errand, status: RemoteStatus, remoteId: string): Promise<void> {
    const words = asMessage(await keepWords(status.said, { attachments, peer, empty: ASKS_FOR_MORE }))
    const idempotencyKey = digest(canonicalJson([remoteId, status.mark, textOf(status.said)]))
    await delegations.reply(peer, task.id, { ...words, named: [], outcome: 'in_progress', idempotencyKey })
  }

  async function spoken(errand: Errand, said: readonly RemotePart[], to: RemoteMessage): Promise<Next> {
    const { peer, task } = errand
    const words = await keepWords(said, { attachments, peer, empty: SAID_NOTHING })
    if (to.taskId === undefined) return end(errand, { ...words, outcome: 'completed' })
    const idempotencyKey = `${to.messageId}:answer`
    await delegations.reply(peer, task.id, { ...asMessage(words), named: [], outcome: 'in_progress', idempotencyKey })
    return lookAfter(0)
  }

  async function end({ held, peer, task }: Errand, said: PeerWords): Promise<Next> {
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
