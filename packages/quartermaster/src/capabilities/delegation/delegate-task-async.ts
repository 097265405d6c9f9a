import type { Platform } from '../../contracts/index.ts'
import { defineTool } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { TaskAnswer, taskAnswer } from './task-answer.ts'
import { TaskInput, wishOf } from './task-input.ts'

/** The tool that gives a task to a peer and goes on. */
export function createDelegateTaskAsync({ delegation, workspace }: Pick<Platform, 'delegation' | 'workspace'>) {
  return defineTool({
    name: 'delegate_task_async',
    title: 'Delegate',
    short: 'Send a task to a peer and return immediately with a task_id (non-blocking).',
    whenToUse:
      'For long work, while you do other things. The result comes into your inbox by itself (kind delegation_result), and ' +
      'check_task_status has it too. A status of queued means that the peer is busy: do not send it again.',
    command: { name: 'delegate', flag: 'async' },
    input: TaskInput,
    output: TaskAnswer,
    examples: [
      {
        query: 'have the researcher look into it',
        input: { workspace_id: 'ws_8f2c', task: 'Compare the three offers.' },
      },
    ],
    mutates: true,
    async handler(input, context) {
      const { wish, said } = wishOf(input, context)
      const actor = actorOf(context)
      const detail = await (await delegation()).delegate(actor, wish)
      const isWithoutInbox = await (await workspace()).isWithoutInbox(actor, detail.to.name)
      return taskAnswer(detail, { to: actor, said, isWithoutInbox })
    },
  })
}
