import { z } from 'zod'
import {
  type Actor,
  AppError,
  type DelegationFacts,
  isAppError,
  type Platform,
  QUOTED_TEXT,
  TOLD_TOOLS,
} from '../../contracts/index.ts'
import { defineTool } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { actorOf } from '../shared/actor.ts'
import { iso, TaskAnswer, taskAnswer } from './task-answer.ts'

/** The tool that tells how a task goes. */
export function createCheckTaskStatus(delegation: Platform['delegation']) {
  return defineTool({
    name: TOLD_TOOLS.taskStatus,
    title: 'Task status',
    short: `Show how a task between you and a peer stands, and its result once there is one. ${QUOTED_TEXT}`,
    whenToUse:
      'Statuses: pending and in_progress (the peer still works: wait), queued (the peer is busy with other tasks: do NOT ' +
      'send it again, the answer comes automatically), completed (the result is there, in pages if it is long), failed (a real ' +
      'end: ask another peer or do it yourself), cancelled, expired. If you lost the id, give any id: the error lists the ' +
      'tasks that are open.',
    command: { name: 'status' },
    input: z.object({
      workspace_id: z
        .string()
        .min(1)
        .max(128)
        .describe('Where the task went; your own workspace_id for a task that you were given.'),
      task_id: z.string().min(1).max(128).describe('task_id returned by delegate_task or delegate_task_async.'),
      offset: z.number().int().nonnegative().optional().describe('From which character of the result on: next_offset.'),
    }),
    output: TaskAnswer,
    examples: [{ query: 'is it done?', input: { workspace_id: 'ws_8f2c', task_id: 'task_8f2c' } }],
    mutates: false,
    // A page of nothing but control characters is many times as large in an answer that shows them.
    maxResultBytes: 4 * 1_024 * 1_024,
    async handler({ workspace_id, task_id, offset }, context) {
      const actor = actorOf(context)
      const service = await delegation()
      const detail = await service.show(actor, task_id, offset).catch(async error => {
        throw isUnknown(error) ? lostTask(error, await service.open(actor), actor) : error
      })
      const { from, to } = detail
      if ([to.id, to.name, from.id, from.name].includes(workspace_id)) return taskAnswer(detail, { to: actor })
      throw new AppError('NAME_UNKNOWN', `The task "${task_id}" was not given to "${workspace_id.slice(0, 100)}".`)
    },
  })
}

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

function isUnknown(error: unknown): error is AppError {
  return isAppError(error) && error.code === 'NAME_UNKNOWN'
}

/** An answer may get lost together with the id of its task, so the error for an unknown id lists the caller's open tasks. */
function lostTask(
  error: AppError,
  open: readonly DelegationFacts[],
  { workspace }: Pick<Actor, 'workspace'>,
): AppError {
  const lines = open.map(task => lineOf(task, workspace))
  const listed =
    lines.length === 0 ? 'You have no open tasks.' : `Your open tasks, the newest first: ${lines.join('; ')}.`
  const tasks = open.map(({ id, state, from, to, createdAt }) => ({
    id,
    state,
    from,
    to: { id: to.id, name: to.name },
    createdAt,
  }))
  return new AppError('NAME_UNKNOWN', `${error.message} ${listed}`, { details: { ...error.details, open: tasks } })
}

function lineOf({ id, state, from, to, createdAt }: DelegationFacts, own: string): string {
  const side = from.name === own ? `given to ${literal(to.name)}` : `taken from ${literal(from.name)}`
  return `${id}, ${side} at ${iso(createdAt)}, ${state}`
}

const literal = (name: string) => escapeLine(JSON.stringify(name))
