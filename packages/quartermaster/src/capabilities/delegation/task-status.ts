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

/** The tool that shows the state of a task. */
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
      offset: z
        .number()
        .int()
        .nonnegative()
        .optional()
        .describe('The character to start at: the next_offset of the page before.'),
    }),
    output: TaskAnswer,
    examples: [{ query: 'is it done?', input: { workspace_id: 'ws_8f2c', task_id: 'task_8f2c' } }],
    mutates: false,
    // Control characters are escaped in the answer, which makes it many times as large.
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

/** The tool that cancels or declines a task. */
export function createCancelTask(delegation: Platform['delegation']) {
  return defineTool({
    name: 'cancel_task',
    title: 'Cancel a task',
    short: `Cancel a task you gave to a peer, or decline one that you were given. ${QUOTED_TEXT}`,
    whenToUse:
      'When you do not need the result any more: the peer is asked to stop, and late answers are refused. A task that you ' +
      'were given is declined and fails for its asker; to say why, use reply with outcome failed instead.',
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

/** The id of a task may get lost with its answer, so the error for an unknown id lists the caller's open tasks. */
function lostTask(error: AppError, open: readonly DelegationFacts[], { workspace }: Actor): AppError {
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

export const TaskAnswer = z.object({
  task_id: z.string(),
  status: DelegationState,
  workspace_id: z.string().describe('The workspace that was given the task.'),
  peer_name: z.string(),
  peer_status: Presence,
  peer_last_seen_at: z.string().nullable(),
  result: z.string().optional().describe('The answer of the peer, from `offset` on.'),
  parts: z.array(MessagePart).optional(),
  attachments: z.array(MessageAttachment).optional(),
  next_offset: z.number().int().nullable().optional().describe('Where the result continues; null on its last page.'),
  error: z.string().optional().describe('Why the task failed.'),
  progress: z.string().optional().describe('The last report of the peer.'),
  deadline_at: z.string(),
  note: z.string().describe('What to do next.'),
})
export type TaskAnswer = z.infer<typeof TaskAnswer>

interface AnswerOptions {
  /** The caller. */
  readonly to: Actor
  /** A status to show in place of the state. */
  readonly status?: DelegationState
  /** A note about the input. */
  readonly notice?: string | undefined
  /** Whether the peer cannot take tasks. */
  readonly isWithoutInbox?: boolean
}

/** A task as one of its two sides sees it, structured and as text. */
export function taskAnswer(detail: DelegationDetail, options: AnswerOptions) {
  const { to: caller, status = detail.state, notice, isWithoutInbox = false } = options
  const { id, to, result, error, progress, deadlineAt } = detail
  const side = caller.workspace === to.name ? 'peer' : 'asker'
  const warning = side === 'asker' ? warningFor(detail, isWithoutInbox) : undefined
  const note = [noteFor(side, detail), warning, notice].filter(one => one !== undefined).join(' ')
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

function noteFor(side: Side, detail: DelegationDetail): string {
  return (side === 'asker' ? FOR_ASKER : FOR_PEER)[detail.state](detail)
}

/** Warns the asker while no peer has taken the task: it may wait in vain until the deadline. */
function warningFor({ state, to }: DelegationDetail, isWithoutInbox: boolean): string | undefined {
  const remark = state === 'pending' || state === 'queued' ? remarkOn(to, isWithoutInbox) : undefined
  if (remark === undefined) return undefined
  return `Perhaps no agent takes it: ${remark}. Ask another peer, or cancel it with cancel_task.`
}

type Notes = Readonly<Record<DelegationDetail['state'], (detail: DelegationDetail) => string>>

/** Includes the deadline, at which an unanswered task ends. */
function resultNotice({ deadlineAt }: DelegationDetail): string {
  return `The result also arrives in your inbox automatically; without one the task ends at ${iso(deadlineAt)}.`
}

/** An absent peer explains why a task takes long. */
function absence({ to: { presence, lastSeenAt } }: DelegationDetail): string {
  if (presence === 'online') return ''
  if (lastSeenAt === null) return ` The peer is ${presence}.`
  return ` The peer is ${presence}, last seen at ${iso(lastSeenAt)}.`
}

function nextPage({ result, to, id }: DelegationDetail): string {
  if (!result || result.nextOffset === null) return ''
  return ` This is a part of ${result.characters} characters: go on with ${TOOL_NAMES.taskStatus}, workspace_id ${to.id}, task_id ${id}, offset ${result.nextOffset}.`
}

const FOR_ASKER: Notes = {
  pending: detail =>
    `The peer has not taken it yet. Wait, and do not send it again. ${resultNotice(detail)}${absence(detail)}`,
  queued: detail =>
    `Queued: the peer is busy; do not send it again, the answer comes automatically into your inbox.${absence(detail)}`,
  in_progress: detail =>
    `The peer works on it. Wait, and do not send it again. ${resultNotice(detail)}${absence(detail)}`,
  completed: detail => `It is done.${nextPage(detail)}`,
  failed: detail => `It failed. Ask another peer, or do it yourself.${nextPage(detail)}`,
  cancelled: () => 'It was cancelled, and answers to it are refused.',
  expired: () => 'Its deadline has passed, and answers to it are refused. Ask another peer, or do it yourself.',
}

/** A peer that lost the message with the task finds it in the chat history. */
function howToAnswer({ from, deadlineAt }: DelegationDetail): string {
  return `Answer the message that carries it with reply until ${iso(deadlineAt)}; chat_history with peer_id ${from.id} has it with its activity_id.`
}

const FOR_PEER: Notes = {
  pending: detail => `It waits in your inbox. ${howToAnswer(detail)}`,
  queued: () =>
    'You have as many tasks as you take. It comes into your inbox when you have room for it; until then you can only decline it, with cancel_task.',
  in_progress: detail => `You have it, and its asker waits. ${howToAnswer(detail)}`,
  completed: detail => `You have answered it, and there is nothing left to do.${nextPage(detail)}`,
  failed: detail => `It has failed, its asker knows, and there is nothing left to do.${nextPage(detail)}`,
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
