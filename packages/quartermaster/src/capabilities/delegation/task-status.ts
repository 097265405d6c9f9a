import { z } from 'zod'
import {
  type Actor,
  AppError,
  type DelegationDetail,
  type DelegationFacts,
  DelegationState,
  isAppError,
  MessageAttachment,
  MessagePart,
  type Platform,
  Presence,
  QUOTED_TEXT,
  TOOL_NAMES,
} from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { actorOf, attachedLines, quoted, quotedLine } from '../shared/workspace-io.ts'

/** The tool that tells how a task goes. */
export function createCheckTaskStatus(delegation: Platform['delegation']) {
  return defineTool({
    name: TOOL_NAMES.taskStatus,
    title: 'Task status',
    short: `Show how a task between you and a peer stands, and its result once there is one. ${QUOTED_TEXT}`,
    whenToUse:
      'Statuses: pending and in_progress (the peer still works: wait), queued (the peer is busy with other tasks: do NOT ' +
      'send it again, the answer comes automatically), completed (the result is there, in pages if it is long), failed (a real ' +
      'end: ask another peer or do it yourself), cancelled, expired. If you lost the id, give any id: the error lists the ' +
      'tasks that are open.',
    command: { name: 'status' },
    input: z.object({
      workspace_id: z
        .string()
        .min(1)
        .max(128)
        .describe('Where the task went; your own workspace_id for a task that you were given.'),
      task_id: z.string().min(1).max(128).describe('task_id returned by delegate_task or delegate_task_async.'),
      offset: z.number().int().nonnegative().optional().describe('From which character of the result on: next_offset.'),
    }),
    output: TaskAnswer,
    examples: [{ query: 'is it done?', input: { workspace_id: 'ws_8f2c', task_id: 'task_8f2c' } }],
    mutates: false,
    // A page of nothing but control characters is many times as large in an answer that shows them.
    maxResultBytes: 4 * 1_024 * 1_024,
    async handler({ workspace_id, task_id, offset }, context) {
      const actor = actorOf(context)
      const service = await delegation()
      const detail = await service.show(actor, task_id, offset).catch(async error => {
        throw isUnknown(error) ? lostTask(error, await service.open(actor), actor) : error
      })
      const { from, to } = detail
      if ([to.id, to.name, from.id, from.name].includes(workspace_id)) return taskAnswer(detail, { to: actor })
      throw new AppError('NAME_UNKNOWN', `The task "${task_id}" was not given to "${workspace_id.slice(0, 100)}".`)
    },
  })
}

/** The tool that ends a task before its time. */
export function createCancelTask(delegation: Platform['delegation']) {
  return defineTool({
    name: 'cancel_task',
    title: 'Cancel a task',
    short: `Cancel a task you gave to a peer, or decline one that you were given. ${QUOTED_TEXT}`,
    whenToUse:
      'When you do not need the result any more: the peer is told to stop, and late answers are refused. A task that you ' +
      'were given is declined, and its asker is told that it failed; to say why, use reply with outcome failed instead.',
    command: { name: 'cancel' },
    input: z.object({ task_id: z.string().min(1).max(128).describe('Which task.') }),
    output: TaskAnswer,
    examples: [{ query: 'stop that task', input: { task_id: 'task_8f2c' } }],
    mutates: true,
    async handler({ task_id }, context) {
      const actor = actorOf(context)
      return taskAnswer(await (await delegation()).cancel(actor, task_id), { to: actor })
    },
  })
}

function isUnknown(error: unknown): error is AppError {
  return isAppError(error) && error.code === 'NAME_UNKNOWN'
}

/** An answer may get lost together with the id of its task, so the error for an unknown id lists the caller's open tasks. */
function lostTask(
  error: AppError,
  open: readonly DelegationFacts[],
  { workspace }: Pick<Actor, 'workspace'>,
): AppError {
  const lines = open.map(task => lineOf(task, workspace))
  const listed =
    lines.length === 0 ? 'You have no open tasks.' : `Your open tasks, the newest first: ${lines.join('; ')}.`
  const tasks = open.map(({ id, state, from, to, createdAt }) => ({
    id,
    state,
    from,
    to: { id: to.id, name: to.name },
    createdAt,
  }))
  return new AppError('NAME_UNKNOWN', `${error.message} ${listed}`, { details: { ...error.details, open: tasks } })
}

function lineOf({ id, state, from, to, createdAt }: DelegationFacts, own: string): string {
  const side = from.name === own ? `given to ${literal(to.name)}` : `taken from ${literal(from.name)}`
  return `${id}, ${side} at ${iso(createdAt)}, ${state}`
}

const literal = (name: string) => escapeLine(JSON.stringify(name))

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
  /** The workspace of the caller. */
  readonly to: Pick<Actor, 'workspace'>
  /** Where it is called something else than it is. */
  readonly status?: DelegationState
  /** What was said of the input. */
  readonly said?: string | undefined
  /** Whether the peer is known to have no way to take it. */
  readonly isWithoutInbox?: boolean
}

/** A task as one of its two sides sees it, structured and in words. */
export function taskAnswer(detail: DelegationDetail, options: AnswerOptions) {
  const { to: whom, status = detail.state, said, isWithoutInbox = false } = options
  const { id, to, result, error, progress, deadlineAt } = detail
  const side = whom.workspace === to.name ? 'peer' : 'asker'
  const warning = side === 'asker' ? untaken(detail, isWithoutInbox) : undefined
  const note = [noteFor(side, detail), warning, said].filter(one => one !== undefined).join(' ')
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

/** The workspace that gave the task, or the one that was given it. */
type Side = 'asker' | 'peer'

/** What one side of a task is to do next. */
function noteFor(side: Side, detail: DelegationDetail): string {
  return (side === 'asker' ? FOR_ASKER : FOR_PEER)[detail.state](detail)
}

/** Warns the asker while no peer has taken the task: it may wait in vain until the deadline. */
function untaken({ state, to }: DelegationDetail, isWithoutInbox: boolean): string | undefined {
  const remark = state === 'pending' || state === 'queued' ? remarkOn(to, isWithoutInbox) : undefined
  if (remark === undefined) return undefined
  return `Perhaps no agent takes it: ${remark}. Ask another peer, or cancel it with cancel_task.`
}

type Notes = Readonly<Record<DelegationDetail['state'], (detail: DelegationDetail) => string>>

/** A task that the peer never answers ends as well, and the asker should know when. */
function coming({ deadlineAt }: DelegationDetail): string {
  return `The result also arrives in your inbox automatically; without one the task ends at ${iso(deadlineAt)}.`
}

/** The peer may be away, which explains why the task takes long. */
function whereabouts({ to: { presence, lastSeenAt } }: DelegationDetail): string {
  if (presence === 'online') return ''
  if (lastSeenAt === null) return ` The peer is ${presence}.`
  return ` The peer is ${presence}: it was last heard of at ${iso(lastSeenAt)}.`
}

function rest({ result, to, id }: DelegationDetail): string {
  if (!result || result.nextOffset === null) return ''
  return ` This is a part of ${result.characters} characters: go on with ${TOOL_NAMES.taskStatus}, workspace_id ${to.id}, task_id ${id}, offset ${result.nextOffset}.`
}

const FOR_ASKER: Notes = {
  pending: detail =>
    `The peer has not taken it yet. Wait, and do not send it again. ${coming(detail)}${whereabouts(detail)}`,
  queued: detail =>
    `Queued: the peer is busy; do not send it again, the answer comes automatically into your inbox.${whereabouts(detail)}`,
  in_progress: detail =>
    `The peer works on it. Wait, and do not send it again. ${coming(detail)}${whereabouts(detail)}`,
  completed: detail => `It is done.${rest(detail)}`,
  failed: detail => `It failed. Ask another peer, or do it yourself.${rest(detail)}`,
  cancelled: () => 'It was cancelled, and answers to it are refused.',
  expired: () => 'Its deadline has passed, and answers to it are refused. Ask another peer, or do it yourself.',
}

/** A peer that lost the message with the task finds it in the chat history. */
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
  cancelled: () => 'Its asker no longer waits: stop working on it. Answers to it are refused.',
  expired: () => 'Its deadline has passed: stop working on it. Answers to it are refused.',
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

const NO_INBOX = 'its agent has no "inbox" capability and cannot take tasks'
/** A workspace may exist in the tree before an agent runs in it. */
const NO_AGENT = 'no agent has been there yet'

/** Why no agent may take a task for this peer; `undefined` where one will sooner or later. */
export function remarkOn(
  { lastSeenAt }: { readonly lastSeenAt: number | null },
  isWithoutInbox: boolean,
): string | undefined {
  if (isWithoutInbox) return NO_INBOX
  return lastSeenAt === null ? NO_AGENT : undefined
}
