import { type Platform, QUOTED_TEXT, TOLD_TOOLS } from '../../contracts/index.ts'
import { defineTool } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { TaskAnswer, taskAnswer } from './task-answer.ts'
import { TaskInput, wishOf } from './task-input.ts'

/** The longest that the setting lets it wait, and time to write the answer. */
const TIMEOUT_MS = 640_000

/** The tool that gives a task to a peer and waits for what comes of it. */
export function createDelegateTask({ delegation, workspace }: Pick<Platform, 'delegation' | 'workspace'>) {
  return defineTool({
    name: TOLD_TOOLS.delegate,
    title: 'Delegate and wait',
    short: `Hand a task to another agent and get its answer in the same call. ${QUOTED_TEXT}`,
    whenToUse:
      'For something small that you need before you can go on. The call ends with the answer of the peer. When the peer ' +
      'needs longer than a call may last, the status is in_progress and there is a task_id. This is no failure: do not send ' +
      'the task a second time. Ask later with check_task_status; the result also arrives in your inbox. Longer work is for ' +
      'delegate_task_async. You can make other calls while this one waits.',
    command: { name: 'delegate' },
    input: TaskInput,
    output: TaskAnswer,
    examples: [
      { query: 'ask the researcher a question', input: { workspace_id: 'ws_8f2c', task: 'Which port does it use?' } },
    ],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    timeoutMs: TIMEOUT_MS,
    // A page of nothing but control characters is many times as large in an answer that shows them.
    maxResultBytes: 4 * 1_024 * 1_024,
    async handler(input, context) {
      const desk = await delegation()
      const actor = actorOf(context)
      const { wish, said } = wishOf(input, context)
      const { id } = await desk.delegate(actor, wish)
      let steps = 0
      const detail = await desk.wait(actor, id, message => context.progress({ progress: ++steps, message }))
      // For whoever has waited it goes on, whether the peer was handed it or will be; the note tells which.
      const isWithoutInbox = await (await workspace()).isWithoutInbox(actor, detail.to.name)
      return taskAnswer(detail, {
        to: actor,
        said,
        isWithoutInbox,
        ...(detail.state === 'pending' && { status: 'in_progress' }),
      })
    },
  })
}
