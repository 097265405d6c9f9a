import {
  AppError,
  type ApprovalFacts,
  type ApprovalSummary,
  type Control,
  type ControlOptions,
  DEFAULT_ORGANISATION,
  type GrantFacts,
  type OperationChange,
  type PersonControl,
} from '../../contracts/index.ts'
import type { Emitter } from '../../core/kernel/index.ts'
import type {
  Answerer,
  ConsentServices,
  LiveGrant,
  OperationAdmin,
  Operations,
  SharedRequest,
} from '../../core/operations/index.ts'
import type { Organisation } from '../../core/organisation/index.ts'

interface ConsentControlDeps {
  readonly consentServices: ConsentServices
  /** The organisation that the caller means. Rejects where the caller has no access. */
  readonly within: Within
  readonly operations: Pick<Operations, 'find'>
  /** Who answers and takes back. */
  readonly by: Answerer
  readonly events: PersonControl['events']
  /** Set where this process is gone after the answer: then it stays for the run that the answer leads to. */
  readonly follower?: Follower | undefined
}

/** The holder of the data folder's credential. */
export const OWNER: Answerer = { name: 'owner', via: 'owner' }

/** What a person is asked, answers and takes back. */
export function createConsentControl(deps: ConsentControlDeps): PersonControl {
  const { consentServices, within, operations, by, events, follower } = deps
  const serviceFor = async (named: string | undefined) => consentServices(await within(named))
  return {
    approvals: async ({ organisation, agent }) => (await (await serviceFor(organisation)).open(agent)).map(toSummary),
    async approval({ organisation, id }) {
      const admin = await serviceFor(organisation)
      const row = await admin.request(id)
      return toFacts(row, await admin.argumentsOf(id))
    },
    async answerApproval({ organisation: named, id, ...answer }, options) {
      const organisation = await within(named)
      const give = () => consentServices(organisation).answer(id, answer, by)
      await (follower ? follower.takeAndFollow({ organisation, id }, give, options) : give())
      return operations.find(organisation, id)
    },
    grants: async ({ organisation, ...filter }) => (await (await serviceFor(organisation)).grants(filter)).map(toGrant),
    revokeGrants: async ({ organisation, ...filter }) => ({
      count: await (await serviceFor(organisation)).revoke(filter, by),
    }),
    events,
  }
}

/**
 * The same for a person with a token of their own, in their own organisation. What a tool answered is its agent's and the
 * owner's, and left out.
 */
export function createPersonControl(
  { organisation, name }: { readonly organisation: string; readonly name: string },
  deps: Pick<ConsentControlDeps, 'consentServices' | 'operations' | 'events'>,
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

type OperationControl = Pick<
  Control,
  'operations' | 'operation' | 'retryOperation' | 'cancelOperation' | 'verifyOperation' | 'dropOperation' | 'audit'
>

interface OperationControlDeps {
  readonly operations: Pick<Operations, 'list' | 'find' | 'audit'>
  readonly admin: OperationAdmin
  readonly within: Within
  readonly emitter: Pick<Emitter, 'on'>
}

/** What a person can see of operations, and have done about them. */
export function createOperationControl({ operations, admin, within, emitter }: OperationControlDeps): OperationControl {
  const { takeAndFollow } = createFollower({ operations, emitter })

  /** The operation service does not check whose an operation is. */
  async function expected({ organisation: named, id }: { organisation?: string | undefined; id: string }) {
    const organisation = await within(named)
    await operations.find(organisation, id)
    return { organisation, id }
  }

  return {
    operations: async ({ organisation, ...filter }) =>
      operations.list({ ...filter, organisation: await within(organisation) }),
    operation: async ({ organisation, id }) => operations.find(await within(organisation), id),
    async retryOperation(wanted, options) {
      const { organisation, id } = await expected(wanted)
      await takeAndFollow({ organisation, id }, () => admin.retry(id), options)
      return operations.find(organisation, id)
    },
    async cancelOperation(wanted, options) {
      const { organisation, id } = await expected(wanted)
      await takeAndFollow({ organisation, id }, () => admin.cancel(id), options)
      return operations.find(organisation, id)
    },
    async verifyOperation(wanted, { signal } = {}) {
      const { organisation, id } = await expected(wanted)
      const found = await admin.verify(id, { signal })
      return { ...found, operation: await operations.find(organisation, id) }
    },
    async dropOperation(wanted) {
      const { organisation, id } = await expected(wanted)
      await admin.drop(id)
      return operations.find(organisation, id)
    },
    audit: async ({ organisation, ...filter }) =>
      operations.audit({ ...filter, organisation: await within(organisation) }),
  }
}

/** An operation of an organisation. */
interface WhichOperation {
  readonly organisation: string
  readonly id: string
}

/** Waits for what becomes of an operation after a step such as an answer or a retry. */
interface Follower {
  /** Resolves when the run that the step leads to is over, or when it has ended without one. */
  takeAndFollow(which: WhichOperation, take: () => Promise<unknown>, options?: ControlOptions): Promise<void>
}

interface FollowerDeps {
  readonly operations: Pick<Operations, 'find'>
  readonly emitter: Pick<Emitter, 'on'>
}

export function createFollower({ operations, emitter }: FollowerDeps): Follower {
  return {
    /** Listens before the step is taken, so that no end is missed, however soon it comes. */
    async takeAndFollow({ organisation, id }, take, { signal } = {}) {
      const { over, release } = endOfRun(id, emitter)
      try {
        await take()
        const { endedAt } = await operations.find(organisation, id)
        if (endedAt === undefined) await untilGone(over, signal)
      } finally {
        release()
      }
    },
  }
}

/** Resolves when a run of this operation is over, or when it is given up without one. */
function endOfRun(id: string, emitter: Pick<Emitter, 'on'>): { over: Promise<void>; release(): void } {
  let release = () => {}
  const over = new Promise<void>(resolve => {
    release = emitter.on('operation.changed', change => {
      if (change.id === id && isOver(change)) resolve()
    })
  })
  return { over, release }
}

function isOver({ from, to }: OperationChange): boolean {
  return from === 'leased' || (to !== 'leased' && to !== 'queued')
}

/** A caller that leaves does not wait any more. The operation goes on: it is on record. */
function untilGone(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const leave = () => reject(new AppError('CANCELLED', 'No caller waits for the operation any more.'))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** Which organisation is meant; the first when none is named. Throws `NAME_UNKNOWN` where there is none of that name. */
type Within = (named: string | undefined) => Promise<string>

/** Whichever the owner of the data folder means. The first is always there, and no store is opened to find out. */
export function ownersWithin(open: () => Promise<Pick<Organisation, 'organisations'>>): Within {
  return async (named = DEFAULT_ORGANISATION) => {
    if (named !== DEFAULT_ORGANISATION) await (await open()).organisations.expect(named)
    return named
  }
}
