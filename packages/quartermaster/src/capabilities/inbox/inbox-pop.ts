import { z } from 'zod'
import type { Platform } from '../../contracts/index.ts'
import { defineTool } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { ActivityReference } from './activity-reference.ts'

/** The tool that takes out what was handled. */
export function createInboxPop(inbox: Platform['inbox']) {
  return defineTool({
    name: 'inbox_pop',
    title: 'Take a message out of the inbox',
    short: 'Remove a message that you have handled from the inbox, by its activity_id.',
    whenToUse:
      'After you have handled a message that needs no answer; reply takes out what it answers by itself. It is ' +
      'acknowledged then and not handed out again, and stays in chat_history. One that is not there says removed: false.',
    command: { none: 'An agent acknowledges its own messages.' },
    input: z.object({ activity_id: ActivityReference }),
    output: z.object({ activity_id: z.string(), removed: z.boolean(), note: z.string().optional() }),
    examples: [{ query: 'I am done with that message', input: { activity_id: 'msg_8f2c_in' } }],
    mutates: true,
    idempotent: true,
    async handler({ activity_id }, context) {
      const { isRemoved, openTask } = await (await inbox()).pop(actorOf(context), activity_id)
      const note = openTask === undefined ? {} : { note: unanswered(openTask) }
      return { activity_id, removed: isRemoved, ...note }
    },
  })
}

/** Whoever takes a task out of the inbox and goes on has its asker wait until the deadline. */
function unanswered(taskId: string): string {
  return `It carries the task ${taskId}, which has no answer yet: whoever gave it waits. Answer it with reply and the same activity_id when it is done or failed, or decline it with cancel_task.`
}
