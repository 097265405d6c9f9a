import { z } from 'zod'
import {
  type DelegationDetail,
  DelegationState,
  MessageAttachment,
  MessagePart,
  Presence,
} from '../../contracts/index.ts'
import { toolResult } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { quoted, WORDS_OF_OTHERS } from '../shared/message-words.ts'

/** What is answered about a task. */
export const TaskAnswer = z.object({
  task_id: z.string(),
  status: DelegationState,
  workspace_id: z.string().describe('Whom the task was given to.'),
  peer_name: z.string(),
  peer_status: Presence,
  peer_last_seen_at: z.string().nullable(),
  result: z.string().optional().describe('What came of it: words of the peer. From `offset` on.'),
  parts: z.array(MessagePart).optional(),
  attachments: z.array(MessageAttachment).optional(),
  next_offset: z.number().int().nullable().optional().describe('Where the result goes on; null with its last page.'),
  error: z.string().optional().describe('Why it came to nothing.'),
  progress: z.string().optional().describe('What the peer said last.'),
  deadline_at: z.string(),
  note: z.string().describe('What to do next.'),
})
export type TaskAnswer = z.infer<typeof TaskAnswer>

/** A task as its asker is told of it, structured and in words; with `status` where it is called something else. */
export function taskAnswer(detail: DelegationDetail, { status = detail.state }: { status?: DelegationState } = {}) {
  const { id, state, to, result, error, progress, deadlineAt } = detail
  const note = NOTES[state](detail)
  const answer: TaskAnswer = {
    task_id: id,
    status,
    workspace_id: to.id,
    peer_name: to.name,
    peer_status: to.presence,
    peer_last_seen_at: to.lastSeenAt === null ? null : iso(to.lastSeenAt),
    ...(result && { result: result.text, attachments: result.attachments, next_offset: result.nextOffset }),
    ...(result && result.parts.length > 0 && { parts: result.parts }),
    ...(error !== null && { error }),
    ...(progress && { progress: progress.text }),
    deadline_at: iso(deadlineAt),
    note,
  }
  return toolResult({
    content: [{ type: 'text', text: inWords({ ...detail, state: status }, note) }],
    structuredContent: answer,
  })
}

function inWords({ id, state, to, result, error, progress }: DelegationDetail, note: string): string {
  const said = result?.text ?? progress?.text
  return [
    `Task ${id} with "${escapeLine(to.name)}": ${state}. ${note}`,
    ...(error !== null && !result ? [escapeLine(error)] : []),
    ...(said === undefined ? [] : [quoted(said), WORDS_OF_OTHERS]),
  ].join('\n')
}

/** What a peer lets lie comes to an end as well, and whoever waits should know when. */
function coming({ deadlineAt }: DelegationDetail): string {
  return `The result also comes into your inbox by itself; without one the task ends at ${iso(deadlineAt)}.`
}

/** The peer may be away, and nobody should wonder why it takes long. */
function whereabouts({ to: { presence, lastSeenAt } }: DelegationDetail): string {
  if (presence === 'online') return ''
  const since = lastSeenAt === null ? 'has not been heard of yet' : `was last heard of at ${iso(lastSeenAt)}`
  return ` The peer is ${presence}: it ${since}.`
}

function rest({ result, to, id }: DelegationDetail): string {
  if (!result || result.nextOffset === null) return ''
  return ` This is a part of ${result.characters} characters: go on with check_task_status, workspace_id ${to.id}, task_id ${id}, offset ${result.nextOffset}.`
}

const NOTES: Readonly<Record<DelegationDetail['state'], (detail: DelegationDetail) => string>> = {
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

function iso(at: number): string {
  return new Date(at).toISOString()
}
