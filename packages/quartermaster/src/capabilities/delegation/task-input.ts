import { z } from 'zod'
import {
  AttachmentIds,
  type DelegationWish,
  keepableText,
  LONGEST_DEADLINE_SECONDS,
  wholeNumber,
} from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'
import { capped } from '../shared/capped.ts'

/** What both ways of giving a task away are told. */
export const TaskInput = z.object({
  workspace_id: z
    .string()
    .min(1)
    .max(128)
    .describe('The workspace that should do it: its workspace_id from list_peers.'),
  task: keepableText()
    .min(1)
    .describe('What the peer should do, complete enough for an agent that knows nothing of it yet.'),
  attachments: AttachmentIds.optional().describe('Ids of files that were uploaded before.'),
  deadline_secs: wholeNumber()
    .optional()
    .describe(`When to give it up. Default: one day, capped at ${LONGEST_DEADLINE_SECONDS}.`),
  for_task: z.string().min(1).max(128).optional().describe('The task_id you work on yourself, if this is for one.'),
  idempotency_key: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The same key with the same content is the same task, however often it is sent.'),
})
export type TaskInput = z.infer<typeof TaskInput>

const DEADLINE = { name: 'deadline_secs', most: LONGEST_DEADLINE_SECONDS, why: 'the longest that a task may take' }

/** What is wanted, and what was said of it. A new attempt at the same call is the same task. */
export function wishOf(
  input: TaskInput,
  { idempotencyKey }: Pick<CallContext, 'idempotencyKey'>,
): { readonly wish: DelegationWish; readonly said: string | undefined } {
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
  return { wish, said: deadline?.said }
}
