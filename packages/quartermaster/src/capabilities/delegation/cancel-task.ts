import { z } from 'zod'
import { type Platform, QUOTED_TEXT } from '../../contracts/index.ts'
import { defineTool } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { TaskAnswer, taskAnswer } from './task-answer.ts'

/** The tool that ends a task before its time. */
export function createCancelTask(delegation: Platform['delegation']) {
  return defineTool({
    name: 'cancel_task',
    title: 'Cancel a task',
    short: `Cancel a task you gave to a peer, or decline one that you were given. ${QUOTED_TEXT}`,
    whenToUse:
      'When you do not need the result any more: the peer is told to stop, and late answers are refused. A task that you ' +
      'were given is declined, and its asker is told that it failed; to say why, use reply with outcome failed instead.',
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
