import { z } from 'zod'
import {
  type Actor,
  AppError,
  type HistoryMessage,
  type InboxMessage,
  type MessageAttachment,
  wholeNumber,
} from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { showHidden } from '../../core/upstreams/index.ts'

/** A message as text: its sender and ids, and its words, quoted line by line. */
export function messageInWords(message: InboxMessage | HistoryMessage): string {
  const { activity_id, created_at, conversation_id, attachments, in_reply_to, task_id } = message
  const head = [
    `${speakerOf(message)} at ${created_at}`,
    `activity_id ${activity_id}`,
    `conversation ${quotedLine(conversation_id)}`,
    ...(in_reply_to === null ? [] : [`in reply to ${in_reply_to}`]),
    ...(task_id === undefined ? [] : [`task ${task_id}`]),
  ]
  const files = attachedLines(attachments)
  return [`${head.join(', ')}:`, quoted(message.text), ...files].join('\n')
}

function speakerOf(message: InboxMessage | HistoryMessage): string {
  const name = quotedLine(message.peer_name)
  if ('direction' in message && message.direction === 'out') return `You to ${name}`
  return `${SPEAKERS[message.kind]} ${name}`
}

const SPEAKERS = {
  canvas_user: 'The person',
  peer_agent: 'The agent',
  delegation_result: 'The end of a task, from',
  notice: 'A notice, from',
} as const

/** A name as a literal on one line, with quotation marks escaped. */
export function quotedLine(name: string): string {
  return escapeLine(JSON.stringify(name))
}

/** Text of another agent or person, with `>` before each line. */
export function quoted(text: string): string {
  return showHidden(text)
    .split('\n')
    .map(line => `> ${line}`)
    .join('\n')
}

/** Attached files, a line each, so that a client that reads only text can ask for them. */
export function attachedLines(attachments: readonly MessageAttachment[]): string[] {
  return attachments.map(({ id, name, size }) => `  attached: ${quotedLine(name)} (${id}, ${size} bytes)`)
}

/** The input `limit`. `pageLimit` lowers a value that is too high instead of refusing the call. */
export function limitInput({ usual, most }: { readonly usual: number; readonly most: number }) {
  return wholeNumber().optional().describe(`How many at most. Default ${usual}, capped at ${most}.`)
}

export const cursorInput = z.string().max(512).optional().describe('Where the page before ended: its `next_cursor`.')

/** Caps a limit; `notice` is set when it was lowered. Throws below 1. */
export function pageLimit(
  wanted: number | undefined,
  { usual, most }: { readonly usual: number; readonly most: number },
): { limit: number; notice: string | undefined } {
  const { value, notice } = capped(wanted ?? usual, { name: 'limit', most, why: 'the most that one answer has' })
  return { limit: value, notice }
}

/** Caps a number; `notice` is set when it was lowered, with the reason `why`. Throws below 1. */
export function capped(
  wanted: number,
  { name, most, why }: { readonly name: string; readonly most: number; readonly why: string },
): { value: number; notice: string | undefined } {
  if (!(wanted >= 1)) throw new AppError('INPUT_INVALID', `"${name}" must be at least 1, not ${wanted}.`)
  if (wanted <= most) return { value: wanted, notice: undefined }
  return { value: most, notice: `"${name}" was lowered from ${wanted} to ${most}, ${why}.` }
}

/** The workspace that a call works for. */
export function actorOf({ caller, client, operationId, signal }: CallContext): Actor {
  const { organisation, workspace } = caller
  return { organisation, workspace, client, operationId, signal }
}
