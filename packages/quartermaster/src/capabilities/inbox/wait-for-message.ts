import { z } from 'zod'
import { AppError, InboxMessage, type Platform } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { messageInWords, WORDS_OF_OTHERS } from '../shared/message-words.ts'
import { pushed } from './push.ts'

const USUAL_SECONDS = 60
const MOST_SECONDS = 300
/** The answer still has to be written when the time is over. */
const TIMEOUT_MS = (MOST_SECONDS + 20) * 1_000

const Output = z.object({
  message: InboxMessage.nullable().describe('The first one that waits; null when none came in time.'),
  note: z.string().optional(),
})

/** The tool that waits for the next message. */
export function createWaitForMessage(inbox: Platform['inbox']) {
  return defineTool({
    name: 'wait_for_message',
    title: 'Wait for a message',
    short: 'Wait until a person or another agent writes to you, or until `timeout_secs` have passed.',
    whenToUse:
      'When you have answered and want to hear what comes next: wait_for_message, answer with reply, wait again. ' +
      'Comes back at once with the first message that waits, and leaves it in the inbox: reply or inbox_pop takes it out. ' +
      'No message in time is no error. Other calls can be made meanwhile.',
    command: { none: 'Somebody at a terminal reads the log instead.' },
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
      if (!(wanted >= 1)) throw new AppError('INPUT_INVALID', `"timeout_secs" must be at least 1, not ${wanted}.`)
      const seconds = Math.min(wanted, MOST_SECONDS)
      const lowered = `"timeout_secs" was lowered from ${wanted} to ${MOST_SECONDS}, the longest that one call waits.`
      const said = wanted > MOST_SECONDS ? [lowered] : []
      const taken = await (await inbox()).take(actorOf(context), { limit: 1, waitMs: seconds * 1_000 })
      if (taken.isPush) return toolResult(pushed({ message: null }))
      const [message = null] = taken.messages
      return answer(message, message ? said : [...said, `No message came within ${seconds} seconds.`])
    },
  })
}

function answer(message: InboxMessage | null, notes: readonly string[]) {
  const words = message
    ? [messageInWords(message), WORDS_OF_OTHERS, 'Answer it with reply, or take it out of the inbox with inbox_pop.']
    : []
  const text = [...words, ...notes].join('\n')
  const note = notes.length > 0 ? { note: notes.join(' ') } : {}
  return toolResult({ content: [{ type: 'text', text }], structuredContent: { message, ...note } })
}
