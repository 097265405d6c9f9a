import { z } from 'zod'
import { HeldByOthers, InboxMessage, type Platform, QUOTED_TEXT, type ToolResult } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { messageInWords } from '../shared/message-words.ts'
import { cursorInput, limitInput, pageLimit } from '../shared/page-input.ts'

const LIMITS = { usual: 10, most: 100 }

const Output = z.object({
  messages: z.array(InboxMessage),
  next_cursor: z.string().nullable(),
  held_by_others: HeldByOthers.optional(),
  note: z.string().optional(),
})

/** The tool that shows what waits. */
export function createInboxPeek(inbox: Platform['inbox']) {
  return defineTool({
    name: 'inbox_peek',
    title: 'Look into the inbox',
    short: `List the messages that wait for you, without taking them out. ${QUOTED_TEXT}`,
    whenToUse:
      'To see what waits before you decide what to handle first. The oldest comes first. Nothing is taken out: that is ' +
      'what reply and inbox_pop do. What another client of yours has in hand is not shown, but it is said how much that ' +
      'is. It does not wait for messages (wait_for_message) and shows none that were handled (chat_history).',
    command: { name: 'inbox' },
    input: z.object({ limit: limitInput(LIMITS), cursor: cursorInput }),
    output: Output,
    examples: [{ query: 'is there anything for me?', input: {} }],
    mutates: false,
    maxResultBytes: 16 * 1024 * 1024,
    async handler({ limit: wanted, cursor }, context) {
      const { limit, said } = pageLimit(wanted, LIMITS)
      const taken = await (await inbox()).take(actorOf(context), { limit, cursor })
      const lowered = said === undefined ? [] : [said]
      if (taken.isPush) return toolResult(pushed({ messages: [], next_cursor: null }, lowered))
      const { messages, nextCursor, held } = taken
      const { notes, data } = heldParts(held)
      const nothing = held ? 'Nothing is free to take' : 'Nothing waits'
      const empty = cursor === undefined ? `${nothing}.` : `${nothing} behind this cursor.`
      return answer(messages, { empty, nextCursor, data, notes: [...notes, ...lowered] })
    },
  })
}

interface Around {
  /** What is said where there is no message. */
  readonly empty: string
  readonly nextCursor: string | null
  readonly notes: readonly string[]
  readonly data: Pick<z.infer<typeof Output>, 'held_by_others'>
}

function answer(messages: readonly InboxMessage[], { empty, nextCursor, notes, data }: Around) {
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

/** What a workspace is told whose messages are brought to it: not that there are none. */
export function pushed(nothing: Record<string, unknown>, said: readonly string[]): ToolResult {
  const note = [PUSHED, ...said].join(' ')
  return { content: [{ type: 'text', text: note }], structuredContent: { ...nothing, note } }
}

/** What other clients of the same agent have in hand: in a sentence for the note, and structured. */
export function heldParts(held: HeldByOthers | undefined): {
  readonly notes: readonly string[]
  readonly data: { readonly held_by_others?: HeldByOthers }
} {
  return held ? { notes: [inWords(held)], data: { held_by_others: held } } : { notes: [], data: {} }
}

function inWords({ messages, until }: HeldByOthers): string {
  const which =
    messages === 1
      ? `1 message in hand until ${until}`
      : `${messages} messages in hand, the first of them until ${until}`
  return `Another client of yours has ${which}. Nothing of the same conversations is handed out before it has answered, it leaves or that time is over.`
}
