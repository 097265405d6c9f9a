import { type DelegationDetail, TOLD_TOOLS } from '../../contracts/index.ts'
import { remarkOn } from './peer-remark.ts'

/** Whoever gave a task away, or whoever was given it. */
export type Side = 'asker' | 'peer'

/** What one side of a task is to do next. */
export function noteFor(side: Side, detail: DelegationDetail): string {
  return (side === 'asker' ? FOR_ASKER : FOR_PEER)[detail.state](detail)
}

/** What the asker should know while nobody has taken it: it may wait for nobody until the deadline. */
export function untaken({ state, to }: DelegationDetail, isWithoutInbox: boolean): string | undefined {
  const remark = state === 'pending' || state === 'queued' ? remarkOn(to, isWithoutInbox) : undefined
  if (remark === undefined) return undefined
  return `Perhaps nobody takes it: ${remark}. Ask another peer, or cancel it with cancel_task.`
}

type Notes = Readonly<Record<DelegationDetail['state'], (detail: DelegationDetail) => string>>

/** What a peer lets lie comes to an end as well, and whoever waits should know when. */
function coming({ deadlineAt }: DelegationDetail): string {
  return `The result also comes into your inbox by itself; without one the task ends at ${iso(deadlineAt)}.`
}

/** The peer may be away, and nobody should wonder why it takes long. */
function whereabouts({ to: { presence, lastSeenAt } }: DelegationDetail): string {
  if (presence === 'online') return ''
  if (lastSeenAt === null) return ` The peer is ${presence}.`
  return ` The peer is ${presence}: it was last heard of at ${iso(lastSeenAt)}.`
}

function rest({ result, to, id }: DelegationDetail): string {
  if (!result || result.nextOffset === null) return ''
  return ` This is a part of ${result.characters} characters: go on with ${TOLD_TOOLS.taskStatus}, workspace_id ${to.id}, task_id ${id}, offset ${result.nextOffset}.`
}

const FOR_ASKER: Notes = {
  pending: detail =>
    `The peer has not taken it yet. Wait, and do not send it again. ${coming(detail)}${whereabouts(detail)}`,
  queued: detail =>
    `Queued: the peer is busy; do not send it again, the answer comes by itself into your inbox.${whereabouts(detail)}`,
  in_progress: detail =>
    `The peer works on it. Wait, and do not send it again. ${coming(detail)}${whereabouts(detail)}`,
  completed: detail => `It is done.${rest(detail)}`,
  failed: detail => `It failed. Ask another peer, or do it yourself.${rest(detail)}`,
  cancelled: () => 'It was cancelled, and answers to it are refused.',
  expired: () => 'Its deadline has passed, and answers to it are refused. Ask another peer, or do it yourself.',
}

/** Whoever has lost sight of the message that carries it finds it in what was said. */
function answering({ from, deadlineAt }: DelegationDetail): string {
  return `Answer the message that carries it with reply until ${iso(deadlineAt)}; chat_history with peer_id ${from.id} has it with its activity_id.`
}

const FOR_PEER: Notes = {
  pending: detail => `It waits in your inbox. ${answering(detail)}`,
  queued: () =>
    'You have as many tasks as you take. It comes into your inbox when you have room for it; until then you can only decline it, with cancel_task.',
  in_progress: detail => `You have it, and its asker waits. ${answering(detail)}`,
  completed: detail => `You have answered it, and there is nothing left to do.${rest(detail)}`,
  failed: detail => `It has failed, its asker was told, and there is nothing left to do.${rest(detail)}`,
  cancelled: () => 'Nobody waits for it any more: stop working on it. Answers to it are refused.',
  expired: () => 'Its deadline has passed: stop working on it. Answers to it are refused.',
}

export function iso(at: number): string {
  return new Date(at).toISOString()
}
