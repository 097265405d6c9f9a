import { z } from 'zod'
import {
  AttachmentIds,
  type DelegationWish,
  LONGEST_DEADLINE_SECONDS,
  type Platform,
  QUOTED_TEXT,
  storableText,
  TOOL_NAMES,
  wholeNumber,
} from '../../contracts/index.ts'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { actorOf, capped } from '../shared/workspace-io.ts'
import { TaskAnswer, taskAnswer } from './task-status.ts'

/** The longest wait that the setting allows, and time to write the answer. */
const TIMEOUT_MS = 640_000

/** The tool that gives a task to a peer and waits for the result. */
export function createDelegateTask({ delegation, workspace }: Pick<Platform, 'delegation' | 'workspace'>) {
  return defineTool({
    name: TOOL_NAMES.delegate,
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
    // Control characters are escaped in the answer, which makes it many times as large.
    maxResultBytes: 4 * 1_024 * 1_024,
    async handler(input, context) {
      const service = await delegation()
      const actor = actorOf(context)
      const { wish, notice } = toWish(input, context)
      const { id } = await service.delegate(actor, wish)
      let steps = 0
      const detail = await service.wait(actor, id, message => context.progress({ progress: ++steps, message }))
      // The status is `in_progress` even when the peer does not have the task yet; the note says which.
      const isWithoutInbox = await (await workspace()).isWithoutInbox(actor, detail.to.name)
      return taskAnswer(detail, {
        to: actor,
        notice,
        isWithoutInbox,
        ...(detail.state === 'pending' && { status: 'in_progress' }),
      })
    },
  })
}

/** The tool that gives a task to a peer without waiting. */
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
      const { wish, notice } = toWish(input, context)
      const actor = actorOf(context)
      const detail = await (await delegation()).delegate(actor, wish)
      const isWithoutInbox = await (await workspace()).isWithoutInbox(actor, detail.to.name)
      return taskAnswer(detail, { to: actor, notice, isWithoutInbox })
    },
  })
}

const TaskInput = z.object({
  workspace_id: z
    .string()
    .min(1)
    .max(128)
    .describe('The workspace that should do it: its workspace_id from list_peers.'),
  task: storableText()
    .min(1)
    .describe('What the peer should do, complete enough for an agent that knows nothing about it.'),
  attachments: AttachmentIds.optional().describe('Ids of files that were uploaded before.'),
  deadline_secs: wholeNumber()
    .optional()
    .describe(`After how many seconds the task expires. Default: one day, capped at ${LONGEST_DEADLINE_SECONDS}.`),
  for_task: z.string().min(1).max(128).optional().describe('The task_id you work on yourself, if this is for one.'),
  idempotency_key: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The same key with the same content is the same task, however often it is sent.'),
})
type TaskInput = z.infer<typeof TaskInput>

const DEADLINE = { name: 'deadline_secs', most: LONGEST_DEADLINE_SECONDS, why: 'the longest that a task may take' }

/** The task to give, and a notice when its deadline was lowered. A new attempt at the same call is the same task. */
function toWish(
  input: TaskInput,
  { idempotencyKey }: CallContext,
): { readonly wish: DelegationWish; readonly notice: string | undefined } {
  const { workspace_id: to, task, attachments, deadline_secs, for_task, idempotency_key } = input
  const deadline = deadline_secs === undefined ? undefined : capped(deadline_secs, DEADLINE)
  const wish = {
    to,
    task,
    attachments,
    deadlineSeconds: deadline?.value,
    forTask: for_task,
    idempotencyKey: idempotency_key === undefined ? `call:${idempotencyKey}` : `own:${idempotency_key}`,
  }
  return { wish, notice: deadline?.notice }
}
