import { z } from 'zod'
import { HeldByOthers, InboxMessage, type Platform, QUOTED_TEXT, TOLD_TOOLS } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { messageInWords } from '../shared/message-words.ts'
import { capped } from '../shared/page-input.ts'
import { heldParts, pushed } from './inbox-peek.ts'

const USUAL_SECONDS = 60
const MOST_SECONDS = 300
/** Many clients time out a call after a minute, which is also the default wait. The answer has to come earlier. */
const EARLIER_MS = 2_000
/** No client has a limit as short as this, so such a wait is not shortened. */
const SHORT_MS = 10_000
/** The answer still has to be written when the time is over. */
const TIMEOUT_MS = (MOST_SECONDS + 20) * 1_000

const TIMEOUT = { name: 'timeout_secs', most: MOST_SECONDS, why: 'the longest that one call waits' }

const Output = z.object({
  message: InboxMessage.nullable().describe('The first one that waits; null when none came in time.'),
  held_by_others: HeldByOthers.optional(),
  note: z.string().optional(),
})

/** The tool that waits for the next message. */
export function createWaitForMessage(inbox: Platform['inbox']) {
  return defineTool({
    name: TOLD_TOOLS.wait,
    title: 'Wait for a message',
    short: `Wait until a person or another agent writes to you, or until "timeout_secs" have passed. ${QUOTED_TEXT}`,
    whenToUse:
      'When you have answered and want to hear what comes next: wait_for_message, answer with reply, wait again. ' +
      'Comes back at once with the first message that waits, and leaves it in the inbox: reply or inbox_pop takes it out. ' +
      'No message in time is no error. Other calls can be made meanwhile.',
    command: { name: 'wait', arguments: ['timeout_secs'] },
    input: z.object({
      timeout_secs: z
        .number()
        .optional()
        .describe(`How many seconds to wait at most. Default ${USUAL_SECONDS}, capped at ${MOST_SECONDS}.`),
    }),
    output: Output,
    examples: [{ query: 'wait for the next message', input: {} }],
    mutates: false,
    timeoutMs: TIMEOUT_MS,
    asTask: 'never',
    // A message of nothing but control characters is twelve times as large in an answer that shows them.
    maxResultBytes: 16 * 1024 * 1024,
    async handler({ timeout_secs: wanted = USUAL_SECONDS }, context) {
      const { value: seconds, said } = capped(wanted, TIMEOUT)
      const lowered = said === undefined ? [] : [said]
      let told = 0
      const onWaiting = () => context.progress({ progress: ++told, message: 'No message yet.' })
      const taken = await (await inbox()).take(actorOf(context), { limit: 1, waitMs: waitOf(seconds), onWaiting })
      if (taken.isPush) return toolResult(pushed({ message: null }, lowered))
      const [message = null] = taken.messages
      const { notes, data } = heldParts(taken.held)
      // With a message, the caller does not take the inbox for empty.
      const none = message ? [] : [`No message came within ${seconds} seconds.`, ...notes]
      return answer(message, { notes: [...lowered, ...none], data })
    },
  })
}

function waitOf(seconds: number): number {
  const whole = seconds * 1_000
  return whole > SHORT_MS ? whole - EARLIER_MS : whole
}

interface Around {
  readonly notes: readonly string[]
  readonly data: Pick<z.infer<typeof Output>, 'held_by_others'>
}

function answer(message: InboxMessage | null, { notes, data }: Around) {
  const words = message
    ? [messageInWords(message), 'Answer it with reply, or take it out of the inbox with inbox_pop.']
    : []
  const text = [...words, ...notes].join('\n')
  const note = notes.length > 0 ? { note: notes.join(' ') } : {}
  return toolResult({ content: [{ type: 'text', text }], structuredContent: { message, ...data, ...note } })
}
