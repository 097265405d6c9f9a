import { z } from 'zod'
import { DelegationState } from './delegation.ts'
import { Presence } from './organisation.ts'
import { AnsweredVia, OperationState } from './rows.ts'

/** What an event is about: one operation. Never its arguments, its result or a secret. */
const operation = {
  at: z.number(),
  id: z.string(),
  tool: z.string(),
  /** Absent when an older server tells. */
  organisation: z.string().optional(),
  agent: z.string(),
}

/** What is told to whoever follows the events of an `up`. */
export const ControlEvent = z.discriminatedUnion('name', [
  /** From here on everything is told. */
  z.object({ name: z.literal('events.started'), at: z.number() }),
  z.object({ name: z.literal('approval.opened'), ...operation }),
  z.object({
    name: z.literal('approval.answered'),
    ...operation,
    state: z.enum(['allowed', 'denied']),
    by: z.object({ name: z.string(), via: AnsweredVia }),
  }),
  /** It is over, and nobody has answered. */
  z.object({ name: z.literal('approval.closed'), ...operation }),
  /** `from` is absent when it was opened. */
  z.object({ name: z.literal('operation.changed'), ...operation, from: OperationState.optional(), to: OperationState }),
  z.object({ name: z.literal('operation.dropped'), ...operation }),
  /** `from` and `to` are the workspaces' names; `before` is absent when it was made. */
  z.object({
    name: z.literal('delegation.changed'),
    at: z.number(),
    organisation: z.string(),
    id: z.string(),
    from: z.string(),
    to: z.string(),
    before: DelegationState.optional(),
    state: DelegationState,
  }),
  z.object({
    name: z.literal('grants.revoked'),
    at: z.number(),
    /** Absent when an older server tells. */
    organisation: z.string().optional(),
    /** Which were meant. */
    id: z.string().optional(),
    agent: z.string().optional(),
    operation: z.string().optional(),
    grantedBy: z.string().optional(),
    by: z.string(),
    count: z.number().int(),
  }),
  /** Somebody is there, has been silent for a while, or is gone. */
  z.object({
    name: z.literal('presence.changed'),
    at: z.number(),
    organisation: z.string(),
    id: z.string(),
    workspace: z.string(),
    from: Presence,
    to: Presence,
  }),
])
export type ControlEvent = z.infer<typeof ControlEvent>
