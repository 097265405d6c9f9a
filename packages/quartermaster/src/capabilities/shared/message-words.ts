import type { HistoryMessage, InboxMessage, MessageAttachment } from '../../contracts/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { showHidden } from '../../core/upstreams/index.ts'

/** A message in words: who says it, and behind a mark on every line what they say. */
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

/** A name as a literal on one line: quotation marks in it do not end it. */
export function quotedLine(name: string): string {
  return escapeLine(JSON.stringify(name))
}

/** Text of another agent or person, with a mark before each line. */
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
