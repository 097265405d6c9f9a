import type { ApprovalFacts, ApprovalRow, ApprovalSummary, GrantFacts, PersonControl } from '../contracts/index.ts'
import type { Answerer, ConsentDesk, LiveGrant, Operations } from '../core/operations/index.ts'
import type { Follower } from './follow-operation.ts'

export interface ConsentControlDeps {
  readonly desk: ConsentDesk
  readonly operations: Pick<Operations, 'find'>
  /** Who answers and takes back. */
  readonly by: Answerer
  readonly events: PersonControl['events']
  /** Set where this process is gone after the answer: then it stays for the run that the answer leads to. */
  readonly follower?: Follower | undefined
}

/** Whoever has the data folder's credential. */
export const OWNER: Answerer = { name: 'owner', via: 'owner' }

/** What a person is asked, answers and takes back. */
export function createConsentControl({ desk, operations, by, events, follower }: ConsentControlDeps): PersonControl {
  return {
    approvals: async ({ agent }) => (await desk.open(agent)).map(toSummary),
    async approval({ id }) {
      const row = await desk.request(id)
      return toFacts(row, await desk.argumentsOf(id))
    },
    async answerApproval({ id, ...answer }, options) {
      const give = () => desk.answer(id, answer, by)
      await (follower ? follower.takeAndFollow(id, give, options) : give())
      return operations.find(id)
    },
    grants: async filter => (await desk.grants(filter)).map(toGrant),
    revokeGrants: async filter => ({ count: await desk.revoke(filter, by) }),
    events,
  }
}

/** The same for somebody with a token of their own. What a tool answered is its agent's and the owner's, and left out. */
export function createPersonControl(
  name: string,
  deps: Pick<ConsentControlDeps, 'desk' | 'operations' | 'events'>,
): PersonControl {
  const control = createConsentControl({ ...deps, by: { name, via: 'person' } })
  return {
    ...control,
    async answerApproval(answer, options) {
      const { result: _, ...facts } = await control.answerApproval(answer, options)
      return facts
    },
  }
}

function toSummary({ id, callerName: agent, tool, asks, createdAt, expiresAt }: ApprovalRow): ApprovalSummary {
  return { id, agent, tool, asks, createdAt, expiresAt }
}

function toFacts(row: ApprovalRow, given: unknown): ApprovalFacts {
  const { state, digest, answeredAt, answeredBy, via, lasting } = row
  return { ...toSummary(row), state, digest, ...present({ arguments: given, answeredAt, answeredBy, via, lasting }) }
}

function toGrant(row: LiveGrant): GrantFacts {
  const { id, callerName: agent, operation, decision, lasting, grantedBy, via, createdAt, expiresAt } = row
  const { scope, tool, digest, askedFor } = row
  const facts = { id, agent, operation, decision, lasting, grantedBy, via, createdAt, expiresAt }
  return { ...facts, ...present({ scope, tool, digest, askedFor }), ...(row.isUnnamed ? { isUnnamed: true } : {}) }
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], null | undefined> }

/** Without what is not there. */
function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  ) as Present<T>
}
