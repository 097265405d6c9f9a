import type { ApprovalFacts, ApprovalRow, ApprovalSummary, Control, GrantFacts, GrantRow } from '../contracts/index.ts'
import type { Answerer, ConsentDesk, Operations } from '../core/operations/index.ts'
import type { Follower } from './follow-operation.ts'

export type ConsentControl = Pick<Control, 'approvals' | 'approval' | 'answerApproval' | 'grants' | 'revokeGrants'>

export interface ConsentControlDeps {
  readonly desk: ConsentDesk
  readonly operations: Pick<Operations, 'find'>
  /** Set where this process is gone after the answer: then it stays for the run that the answer leads to. */
  readonly follower?: Follower | undefined
}

/** Whoever has the data folder's credential. */
const OWNER: Answerer = { name: 'owner', via: 'owner' }

/** What the owner of the folder is asked, answers and takes back. */
export function createConsentControl({ desk, operations, follower }: ConsentControlDeps): ConsentControl {
  return {
    approvals: async ({ agent }) => (await desk.open(agent)).map(toSummary),
    async approval({ id }) {
      const row = await desk.request(id)
      return toFacts(row, await desk.argumentsOf(id))
    },
    async answerApproval({ id, ...answer }, options) {
      const give = () => desk.answer(id, answer, OWNER)
      await (follower ? follower.takeAndFollow(id, give, options) : give())
      return operations.find(id)
    },
    grants: async filter => (await desk.grants(filter)).map(toGrant),
    revokeGrants: async filter => ({ count: await desk.revoke(filter, OWNER.name) }),
  }
}

function toSummary({ id, callerName: agent, tool, asks, createdAt, expiresAt }: ApprovalRow): ApprovalSummary {
  return { id, agent, tool, asks, createdAt, expiresAt }
}

function toFacts(row: ApprovalRow, given: unknown): ApprovalFacts {
  const { state, digest, answeredAt, answeredBy, via, lasting } = row
  return { ...toSummary(row), state, digest, ...present({ arguments: given, answeredAt, answeredBy, via, lasting }) }
}

function toGrant(row: GrantRow): GrantFacts {
  const { id, callerName: agent, operation, decision, lasting, grantedBy, via, createdAt, expiresAt } = row
  const { scope, tool, digest, askedFor } = row
  const facts = { id, agent, operation, decision, lasting, grantedBy, via, createdAt, expiresAt }
  return { ...facts, ...present({ scope, tool, digest, askedFor }) }
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], null | undefined> }

/** Without what is not there. */
function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  ) as Present<T>
}
