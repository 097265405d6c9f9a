import { z } from 'zod'
import { HistoryMessage, type Platform, QUOTED_TEXT, storableText } from '../../contracts/index.ts'
import { defineCapability, defineModule, defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf, limitInput, messageInWords, pageLimit } from '../shared/workspace-io.ts'

/** Earlier messages between an agent and its peers. */
export default defineModule({
  needs: ['history'],
  create({ history }) {
    return defineCapability({
      key: 'history',
      title: 'History',
      short: 'Read what was said before with one peer.',
      inward: true,
      tools: [createChatHistory(history)],
    })
  },
})

const LIMITS = { usual: 20, most: 500 }

const Output = z.object({
  messages: z.array(HistoryMessage),
  before_ts: z.string().nullable().describe('What leads to the messages before these; null when there are none.'),
  note: z.string().optional(),
})

/** The tool that shows earlier messages. */
function createChatHistory(history: Platform['history']) {
  return defineTool({
    name: 'chat_history',
    title: 'Earlier messages',
    short: `Fetch the earlier conversation with one peer: both sides, in the order in which it was said. ${QUOTED_TEXT}`,
    whenToUse:
      'When a message refers to something that was said before and you need to know what. Comes back with the newest ' +
      'messages, the oldest of them first, handled or not. Page back with before_ts of the answer. It takes nothing out of ' +
      'the inbox.',
    command: { name: 'history' },
    input: z.object({
      peer_id: storableText()
        .min(1)
        .max(128)
        .describe('The peer_id of a message, or the workspace_id or name of a peer.'),
      limit: limitInput(LIMITS),
      before_ts: z
        .string()
        .max(100)
        .optional()
        .describe('Only what was said before: an RFC 3339 time, or before_ts of the last answer.'),
    }),
    output: Output,
    examples: [{ query: 'what did we agree on?', input: { peer_id: 'ws_8f2c' } }],
    mutates: false,
    maxResultBytes: 16 * 1024 * 1024,
    async handler({ peer_id, limit: wanted, before_ts }, context) {
      const { limit, notice } = pageLimit(wanted, LIMITS)
      const wish = { peer: peer_id, limit, before: before_ts }
      const { messages, before } = await (await history()).read(actorOf(context), wish)
      return answer(messages, { before, notes: notice === undefined ? [] : [notice] })
    },
  })
}

function answer(
  messages: readonly HistoryMessage[],
  { before, notes }: { readonly before: string | null; readonly notes: readonly string[] },
) {
  const shown = messages.length > 0 ? messages.map(messageInWords) : ['Nothing was said.']
  const more = before === null ? [] : [`There is more before it; go on with before_ts "${before}".`]
  const note = notes.length > 0 ? { note: notes.join(' ') } : {}
  return toolResult({
    content: [{ type: 'text', text: [...shown, ...more, ...notes].join('\n\n') }],
    structuredContent: { messages, before_ts: before, ...note },
  })
}
