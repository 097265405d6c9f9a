import { type Platform, QUOTED_TEXT } from '../../contracts/index.ts'
import { defineTool } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { TaskAnswer, taskAnswer } from './task-answer.ts'
import { TaskInput, wishOf } from './task-input.ts'

/** The tool that gives a task to a peer and goes on. */
export function createDelegateTaskAsync({ delegation, workspace }: Pick<Platform, 'delegation' | 'workspace'>) {
  return defineTool({
    name: 'delegate_task_async',
    title: 'Delegate',
    short: `Hand a task to another agent and carry on; its answer comes later. ${QUOTED_TEXT}`,
    whenToUse:
      'For work that takes minutes or hours. You get the task_id at once. When the peer is done, a message of kind ' +
      'delegation_result brings the outcome to your inbox; check_task_status shows it too. The status queued says that the ' +
      'peer has other tasks first: leave the task there and do not send it a second time.',
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
    mcp: { annotations: { destructiveHint: false } },
    async handler(input, context) {
      const { wish, said } = wishOf(input, context)
      const actor = actorOf(context)
      const detail = await (await delegation()).delegate(actor, wish)
      const isWithoutInbox = await (await workspace()).isWithoutInbox(actor, detail.to.name)
      return taskAnswer(detail, { to: actor, said, isWithoutInbox })
    },
  })
}
