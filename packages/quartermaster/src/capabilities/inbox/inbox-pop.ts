import { z } from 'zod'
import { HeldByOthers, isKeepable, type Platform } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { quotedLine } from '../shared/message-words.ts'
import { heldParts } from './inbox-peek.ts'

const Output = z.object({
  activity_id: z.string(),
  removed: z.boolean().describe('Whether it was in the inbox.'),
  held_by_others: HeldByOthers.optional(),
  note: z.string().optional(),
})

/** The tool that takes out what was handled. */
export function createInboxPop(inbox: Platform['inbox']) {
  return defineTool({
    name: 'inbox_pop',
    title: 'Take a message out of the inbox',
    short: 'Remove a message that you have handled from the inbox, by its activity_id.',
    whenToUse:
      'After you have handled a message that needs no answer; reply takes out what it answers by itself. It is ' +
      'acknowledged then and not handed out again, and stays in chat_history. One that is not there says removed: false.',
    command: { name: 'inbox', flag: 'pop' },
    input: z.object({ activity_id: ActivityReference }),
    output: Output,
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
      const structuredContent: z.infer<typeof Output> = { activity_id, removed: isRemoved, ...data, ...note }
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

/** A task that is taken out of the inbox and not answered leaves its asker waiting until the deadline. */
function unanswered(taskId: string): string {
  return `It carries the task ${taskId}, which has no answer yet: its asker waits. Answer it with reply and the same activity_id when it is done or failed, or decline it with cancel_task.`
}

const LONGEST = 128
const SHOWN = 40
const WHERE_FROM = 'Take the activity_id of a message from wait_for_message or inbox_peek.'

/** How an agent says which message it means. What cannot be one is named, so that the agent sees what it has sent. */
export const ActivityReference = z
  .string()
  .min(1, { error: `must not be empty: there is no message "". ${WHERE_FROM}` })
  .max(LONGEST, {
    error: ({ input }) =>
      `must be ${LONGEST} characters at most: there is no message ${quotedLine(`${String(input).slice(0, SHOWN)}…`)}. ${WHERE_FROM}`,
  })
  .refine(isKeepable, { error: `must be well-formed text without NUL. ${WHERE_FROM}` })
  .describe('The activity_id of a message from wait_for_message or inbox_peek.')
