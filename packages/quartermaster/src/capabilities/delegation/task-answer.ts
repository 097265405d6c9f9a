import { z } from 'zod'
import {
  type Actor,
  type DelegationDetail,
  DelegationState,
  MessageAttachment,
  MessagePart,
  Presence,
} from '../../contracts/index.ts'
import { toolResult } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { attachedLines, quoted, quotedLine } from '../shared/message-words.ts'
import { iso, noteFor, type Side, untaken } from './task-notes.ts'

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

interface AnswerOptions {
  /** The workspace of whoever asks. */
  readonly to: Pick<Actor, 'workspace'>
  /** Where it is called something else than it is. */
  readonly status?: DelegationState
  /** What was said of the input. */
  readonly said?: string | undefined
  /** Whether the peer is known to have no way to take it. */
  readonly isWithoutInbox?: boolean
}

/** A task as one of its two sides is told of it, structured and in words. */
export function taskAnswer(detail: DelegationDetail, options: AnswerOptions) {
  const { to: whom, status = detail.state, said, isWithoutInbox = false } = options
  const { id, to, result, error, progress, deadlineAt } = detail
  const side = whom.workspace === to.name ? 'peer' : 'asker'
  const nobody = side === 'asker' ? untaken(detail, isWithoutInbox) : undefined
  const note = [noteFor(side, detail), nobody, said].filter(one => one !== undefined).join(' ')
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
    content: [{ type: 'text', text: inWords({ ...detail, state: status }, side, note) }],
    structuredContent: answer,
  })
}

function inWords(detail: DelegationDetail, side: Side, note: string): string {
  const { id, state, from, to, result, error, progress } = detail
  const said = result?.text ?? progress?.text
  const other = side === 'asker' ? `with ${quotedLine(to.name)}` : `of ${quotedLine(from.name)}`
  return [
    `Task ${id} ${other}: ${state}. ${note}`,
    ...(error !== null && !result ? [escapeLine(error)] : []),
    ...(said === undefined ? [] : [quoted(said), ...attachedLines(result?.attachments ?? [])]),
  ].join('\n')
}
