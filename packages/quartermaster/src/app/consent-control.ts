import {
  AppError,
  type ApprovalFacts,
  type ApprovalSummary,
  type GrantFacts,
  type PersonControl,
} from '../contracts/index.ts'
import type { Answerer, ConsentDesks, LiveGrant, Operations, SharedRequest } from '../core/operations/index.ts'
import type { Follower } from './follow-operation.ts'
import type { Within } from './within.ts'

export interface ConsentControlDeps {
  readonly desks: ConsentDesks
  /** The organisation that whoever asks means. Rejects where they have no business there. */
  readonly within: Within
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
export function createConsentControl(deps: ConsentControlDeps): PersonControl {
  const { desks, within, operations, by, events, follower } = deps
  const deskFor = async (named: string | undefined) => desks(await within(named))
  return {
    approvals: async ({ organisation, agent }) => (await (await deskFor(organisation)).open(agent)).map(toSummary),
    async approval({ organisation, id }) {
      const desk = await deskFor(organisation)
      const row = await desk.request(id)
      return toFacts(row, await desk.argumentsOf(id))
    },
    async answerApproval({ organisation: named, id, ...answer }, options) {
      const organisation = await within(named)
      const give = () => desks(organisation).answer(id, answer, by)
      await (follower ? follower.takeAndFollow({ organisation, id }, give, options) : give())
      return operations.find(organisation, id)
    },
    grants: async ({ organisation, ...filter }) => (await (await deskFor(organisation)).grants(filter)).map(toGrant),
    revokeGrants: async ({ organisation, ...filter }) => ({
      count: await (await deskFor(organisation)).revoke(filter, by),
    }),
    events,
  }
}

/**
 * The same for somebody with a token of their own, in their own organisation. What a tool answered is its agent's and the
 * owner's, and left out.
 */
export function createPersonControl(
  { organisation, name }: { readonly organisation: string; readonly name: string },
  deps: Pick<ConsentControlDeps, 'desks' | 'operations' | 'events'>,
): PersonControl {
  const within: Within = async (named = organisation) => {
    if (named === organisation) return organisation
    // As one that is not there: who belongs to one organisation does not learn of another.
    throw new AppError('NAME_UNKNOWN', 'There is no such organisation.')
  }
  const control = createConsentControl({ ...deps, within, by: { name, via: 'person' } })
  return {
    ...control,
    async answerApproval(answer, options) {
      const { result: _, ...facts } = await control.answerApproval(answer, options)
      return facts
    },
  }
}

function toSummary({ id, callerName: agent, tool, asks, createdAt, expiresAt, calls }: SharedRequest): ApprovalSummary {
  return { id, agent, tool, asks, createdAt, expiresAt, ...(calls > 1 ? { calls } : {}) }
}

function toFacts(row: SharedRequest, given: unknown): ApprovalFacts {
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
