import { z } from 'zod'
import { type ApiRoute, none, one, within } from './api-route.ts'
import { cappedWholeText, waitSecondsText } from './capped.ts'
import {
  DELEGATION_PAGE,
  DELEGATION_RESULT_BYTES,
  DelegationDetail,
  DelegationPage,
  DelegationReply,
  DelegationState,
  DelegationWish,
  TASK_BYTES,
} from './delegation.ts'

const limit = cappedWholeText({ most: DELEGATION_PAGE.most }).optional()

/** Tasks that workspaces give each other. */
export const DELEGATION_ROUTES = {
  createDelegation: {
    method: 'POST',
    path: '/delegations',
    summary: 'Gives a task to a workspace that this one can reach. A busy peer has it wait for its turn.',
    who: ['workspace'],
    scope: 'delegation',
    params: none,
    query: none,
    body: DelegationWish,
    bodyBytes: 2.5 * TASK_BYTES,
    output: DelegationDetail,
    status: 201,
    errors: [
      'PEER_NOT_FOUND',
      'NAME_UNKNOWN',
      'DELEGATION_LOOP',
      'IDEMPOTENCY_CONFLICT',
      'LIMIT_EXCEEDED',
      'STORE_BUSY',
    ],
  },
  listDelegations: {
    method: 'GET',
    path: '/delegations',
    summary: 'Delegations, the newest first: those of the workspace that asks, or all that the owner or a person sees.',
    who: ['owner', 'person', 'workspace'],
    scope: 'delegation',
    params: none,
    query: within.extend({
      workspaceId: z.string().max(128).optional().describe('Whose the owner or a person wants: an id or name.'),
      role: z
        .enum(['asker', 'peer'])
        .optional()
        .describe('Those it has given, or those it was given; both when absent.'),
      state: DelegationState.optional().describe('Only those.'),
      limit: limit.describe(`How many; ${DELEGATION_PAGE.usual} when absent, ${DELEGATION_PAGE.most} at most.`),
      cursor: z.string().max(128).optional().describe('Where the page before ended: its `nextCursor`.'),
    }),
    output: DelegationPage,
    errors: ['NAME_UNKNOWN', 'CURSOR_GONE'],
  },
  showDelegation: {
    method: 'GET',
    path: '/delegations/{id}',
    summary: 'One delegation with a page of its result; waits for its end if asked to.',
    who: ['owner', 'person', 'workspace'],
    scope: 'delegation',
    params: one,
    query: within.extend({
      waitSeconds: waitSecondsText({ most: 300 })
        .optional()
        .describe('How long to wait while it is open; 300 at most.'),
      offset: z.coerce.number().int().nonnegative().optional().describe('From which character of the result on.'),
    }),
    output: DelegationDetail,
    errors: ['NAME_UNKNOWN', 'RATE_LIMITED'],
  },
  replyToDelegation: {
    method: 'POST',
    path: '/delegations/{id}/reply',
    summary: 'Ends a delegation that this workspace was given, or says how it goes.',
    who: ['workspace'],
    scope: 'delegation',
    params: one,
    query: none,
    body: DelegationReply,
    bodyBytes: 1.5 * DELEGATION_RESULT_BYTES,
    output: DelegationDetail,
    errors: ['NAME_UNKNOWN', 'DELEGATION_ENDED', 'LIMIT_EXCEEDED', 'STORE_BUSY'],
  },
  cancelDelegation: {
    method: 'POST',
    path: '/delegations/{id}/cancel',
    summary: 'Ends a delegation: its asker and the owner cancel it, its peer declines it.',
    who: ['owner', 'workspace'],
    scope: 'delegation',
    params: one,
    query: within,
    output: DelegationDetail,
    errors: ['NAME_UNKNOWN', 'DELEGATION_ENDED', 'STORE_BUSY'],
  },
} as const satisfies Record<string, ApiRoute>
