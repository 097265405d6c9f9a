import { z } from 'zod'
import {
  HeldByOthers,
  InboxMessage,
  isStorable,
  type Platform,
  QUOTED_TEXT,
  TOOL_NAMES,
  type ToolResult,
} from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import {
  actorOf,
  capped,
  cursorInput,
  limitInput,
  messageInWords,
  pageLimit,
  quotedLine,
} from '../shared/workspace-io.ts'

const LIMITS = { usual: 10, most: 100 }

const Output = z.object({
  messages: z.array(InboxMessage),
  next_cursor: z.string().nullable(),
  held_by_others: HeldByOthers.optional(),
  note: z.string().optional(),
})

/** The tool that lists waiting messages. */
export function createInboxPeek(inbox: Platform['inbox']) {
  return defineTool({
    name: 'inbox_peek',
    title: 'Look into the inbox',
    short: `List the messages that wait for you, without taking them out. ${QUOTED_TEXT}`,
    whenToUse:
      'To see what waits before you decide what to handle first. The oldest comes first. Nothing is taken out: that is ' +
      'what reply and inbox_pop do. Messages that another client of yours works on are not shown, but their number ' +
      'is. It does not wait for messages (wait_for_message) and shows none that were handled (chat_history).',
    command: { name: 'inbox' },
    input: z.object({ limit: limitInput(LIMITS), cursor: cursorInput }),
    output: Output,
    examples: [{ query: 'is there anything for me?', input: {} }],
    mutates: false,
    maxResultBytes: 16 * 1024 * 1024,
    async handler({ limit: wanted, cursor }, context) {
      const { limit, notice } = pageLimit(wanted, LIMITS)
      const taken = await (await inbox()).take(actorOf(context), { limit, cursor })
      const limitNotes = notice === undefined ? [] : [notice]
      if (taken.isPush) return toolResult(pushed({ messages: [], next_cursor: null }, limitNotes))
      const { messages, nextCursor, held } = taken
      const { notes, data } = heldParts(held)
      const nothing = held ? 'Nothing is free to take' : 'Nothing waits'
      const empty = cursor === undefined ? `${nothing}.` : `${nothing} behind this cursor.`
      return answer(messages, { empty, nextCursor, data, notes: [...notes, ...limitNotes] })
    },
  })
}

function answer(
  messages: readonly InboxMessage[],
  { empty, nextCursor, notes, data }: HeldParts & { empty: string; nextCursor: string | null },
) {
  const shown = messages.length > 0 ? messages.map(messageInWords) : [empty]
  const more = nextCursor === null ? [] : [`There is more; go on with cursor "${nextCursor}".`]
  const note = notes.length > 0 ? { note: notes.join(' ') } : {}
  return toolResult({
    content: [{ type: 'text', text: [...shown, ...more, ...notes].join('\n\n') }],
    structuredContent: { messages, next_cursor: nextCursor, ...data, ...note },
  })
}

const PUSHED =
  'This workspace is registered with delivery "push": messages are brought to it by the program that registered it, which ' +
  'follows GET /api/v1/events with a token of this workspace, so there is nothing to wait for here. Answer one with reply, ' +
  'or acknowledge it with inbox_pop. To read the inbox instead, register with delivery "poll".'

/** The answer for a workspace with delivery "push", which must not say that there are no messages. */
function pushed(empty: Record<string, unknown>, notices: readonly string[]): ToolResult {
  const note = [PUSHED, ...notices].join(' ')
  return { content: [{ type: 'text', text: note }], structuredContent: { ...empty, note } }
}

interface HeldParts {
  readonly notes: readonly string[]
  readonly data: { readonly held_by_others?: HeldByOthers }
}

/** The messages that other clients of the same agent work on, as a note and structured. */
function heldParts(held: HeldByOthers | undefined): HeldParts {
  return held ? { notes: [inWords(held)], data: { held_by_others: held } } : { notes: [], data: {} }
}

function inWords({ messages, until }: HeldByOthers): string {
  const which =
    messages === 1
      ? `1 message in hand until ${until}`
      : `${messages} messages in hand, the first of them until ${until}`
  return `Another client of yours has ${which}. Nothing of the same conversations is handed out before it has answered, it leaves or that time is over.`
}

const PopOutput = z.object({
  activity_id: z.string(),
  removed: z.boolean().describe('Whether it was in the inbox.'),
  held_by_others: HeldByOthers.optional(),
  note: z.string().optional(),
})

/** The tool that removes a handled message. */
export function createInboxPop(inbox: Platform['inbox']) {
  return defineTool({
    name: 'inbox_pop',
    title: 'Take a message out of the inbox',
    short: 'Remove a message that you have handled from the inbox, by its activity_id.',
    whenToUse:
      'After you have handled a message that needs no answer; reply takes out the message it answers. The message is ' +
      'acknowledged then and not handed out again, and stays in chat_history. For an unknown message removed is false.',
    command: { name: 'inbox', flag: 'pop' },
    input: z.object({ activity_id: ActivityReference }),
    output: PopOutput,
    examples: [{ query: 'I am done with that message', input: { activity_id: 'msg_8f2c_in' } }],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    idempotent: true,
    async handler({ activity_id }, context) {
      const { isRemoved, isPush, openTask, held } = await (await inbox()).pop(actorOf(context), activity_id)
      const { notes: elsewhere, data } = heldParts(held)
      const notes = [
        ...(isRemoved ? [] : [notThere(isPush)]),
        ...(openTask === undefined ? [] : [unanswered(openTask)]),
        ...elsewhere,
      ]
      const note = notes.length > 0 ? { note: notes.join(' ') } : {}
      const structuredContent: z.infer<typeof PopOutput> = { activity_id, removed: isRemoved, ...data, ...note }
      const text = [headline(activity_id, isRemoved), ...notes].join('\n')
      return toolResult({ content: [{ type: 'text', text }], structuredContent })
    },
  })
}

function headline(activityId: string, isRemoved: boolean): string {
  const message = `The message ${quotedLine(activityId)}`
  return isRemoved ? `${message} is out of the inbox.` : `${message} is not in the inbox. Nothing was removed.`
}

function notThere(isPush: boolean): string {
  const where = isPush
    ? 'Messages are brought to this workspace: take the id that the event had as activity_id.'
    : 'inbox_peek lists what waits, with the activity_id of each.'
  return `It was acknowledged or answered before, or is no message of yours. ${where}`
}

/** After taking out a task without an answer, its asker waits until the deadline. */
function unanswered(taskId: string): string {
  return `It carries the task ${taskId}, which has no answer yet: its asker waits. Answer it with reply and the same activity_id when it is done or failed, or decline it with cancel_task.`
}

const LONGEST = 128
const SHOWN = 40
const WHERE_FROM = 'Take the activity_id of a message from wait_for_message or inbox_peek.'

/** The id of a message. Errors repeat an invalid one, so that the agent sees what it has sent. */
export const ActivityReference = z
  .string()
  .min(1, { error: `must not be empty: there is no message "". ${WHERE_FROM}` })
  .max(LONGEST, {
    error: ({ input }) =>
      `must be ${LONGEST} characters at most: there is no message ${quotedLine(`${String(input).slice(0, SHOWN)}…`)}. ${WHERE_FROM}`,
  })
  .refine(isStorable, { error: `must be well-formed text without NUL. ${WHERE_FROM}` })
  .describe('The activity_id of a message from wait_for_message or inbox_peek.')

const USUAL_SECONDS = 60
const MOST_SECONDS = 300
/** Many clients time out a call after a minute, the default wait, so the answer comes earlier. */
const EARLIER_MS = 2_000
/** No client has a shorter timeout, so shorter waits are not shortened. */
const SHORT_MS = 10_000
/** Includes time to write the answer. */
const TIMEOUT_MS = (MOST_SECONDS + 20) * 1_000

const TIMEOUT = { name: 'timeout_secs', most: MOST_SECONDS, why: 'the longest that one call waits' }

const WaitOutput = z.object({
  message: InboxMessage.nullable().describe('The first waiting message; null when none came in time.'),
  held_by_others: HeldByOthers.optional(),
  note: z.string().optional(),
})

/** The tool that waits for the next message. */
export function createWaitForMessage(inbox: Platform['inbox']) {
  return defineTool({
    name: TOOL_NAMES.wait,
    title: 'Wait for a message',
    short: `Wait until a person or another agent writes to you, or until "timeout_secs" have passed. ${QUOTED_TEXT}`,
    whenToUse:
      'When you have answered and want the next message: wait_for_message, answer with reply, wait again. ' +
      'Comes back at once with the first message that waits, and leaves it in the inbox: reply or inbox_pop takes it out. ' +
      'No message in time is no error. Other calls can be made meanwhile.',
    command: { name: 'wait', arguments: ['timeout_secs'] },
    input: z.object({
      timeout_secs: z
        .number()
        .optional()
        .describe(`How many seconds to wait at most. Default ${USUAL_SECONDS}, capped at ${MOST_SECONDS}.`),
    }),
    output: WaitOutput,
    examples: [{ query: 'wait for the next message', input: {} }],
    mutates: false,
    timeoutMs: TIMEOUT_MS,
    asTask: 'never',
    // Control characters are escaped in the answer, which makes it up to twelve times as large.
    maxResultBytes: 16 * 1024 * 1024,
    async handler({ timeout_secs: wanted = USUAL_SECONDS }, context) {
      const { value: seconds, notice } = capped(wanted, TIMEOUT)
      const limitNotes = notice === undefined ? [] : [notice]
      let progress = 0
      const onWaiting = () => context.progress({ progress: ++progress, message: 'No message yet.' })
      const taken = await (await inbox()).take(actorOf(context), { limit: 1, waitMs: waitOf(seconds), onWaiting })
      if (taken.isPush) return toolResult(pushed({ message: null }, limitNotes))
      const [message = null] = taken.messages
      const { notes, data } = heldParts(taken.held)
      // Notes about other clients explain an empty inbox.
      const none = message ? [] : [`No message came within ${seconds} seconds.`, ...notes]
      return waitAnswer(message, { notes: [...limitNotes, ...none], data })
    },
  })
}

function waitOf(seconds: number): number {
  const whole = seconds * 1_000
  return whole > SHORT_MS ? whole - EARLIER_MS : whole
}

function waitAnswer(message: InboxMessage | null, { notes, data }: HeldParts) {
  const words = message
    ? [messageInWords(message), 'Answer it with reply, or take it out of the inbox with inbox_pop.']
    : []
  const text = [...words, ...notes].join('\n')
  const note = notes.length > 0 ? { note: notes.join(' ') } : {}
  return toolResult({ content: [{ type: 'text', text }], structuredContent: { message, ...data, ...note } })
}
