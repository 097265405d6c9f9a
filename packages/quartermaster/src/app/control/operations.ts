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
  /** The person who answers and revokes. */
  readonly by: Answerer
  readonly events: PersonControl['events']
  /** Set for a process that ends after the answer: it waits for the run that the answer leads to. */
  readonly follower?: ExecuteAndFollow | undefined
}

/** The holder of the data folder's credential. */
export const OWNER: Answerer = { name: 'owner', via: 'owner' }

/** Approvals and grants, for the persons who decide. */
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
      await (follower ? follower({ organisation, id }, give, options) : give())
      return operations.find(organisation, id)
    },
    grants: async ({ organisation, ...filter }) => (await (await serviceFor(organisation)).grants(filter)).map(toGrant),
    revokeGrants: async ({ organisation, ...filter }) => ({
      count: await (await serviceFor(organisation)).revoke(filter, by),
    }),
    events,
  }
}

/** The same for a person with a token, in their own organisation. Results of tools are for the agent and the owner only. */
export function createPersonControl(
  { organisation, name }: { readonly organisation: string; readonly name: string },
  deps: Pick<ConsentControlDeps, 'consentServices' | 'operations' | 'events'>,
): PersonControl {
  const within: Within = async (named = organisation) => {
    if (named === organisation) return organisation
    // The same answer as for an unknown one: a person does not learn of other organisations.
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

/** Without absent values. */
function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  ) as Present<T>
}

type OperationControl = Pick<
  Control,
  'operations' | 'operation' | 'retryOperation' | 'cancelOperation' | 'verifyOperation' | 'dropOperation' | 'audit'
>

/** The owner's view of operations, and what can be done about them. */
export function createOperationControl({
  operations,
  admin,
  within,
  emitter,
}: {
  readonly operations: Operations
  readonly admin: OperationAdmin
  readonly within: Within
  readonly emitter: Emitter
}): OperationControl {
  const executeAndFollow = createFollower({ operations, emitter })

  /** The operation service does not check the organisation of an operation. */
  async function inOrganisation({ organisation: named, id }: { organisation?: string | undefined; id: string }) {
    const organisation = await within(named)
    await operations.find(organisation, id)
    return { organisation, id }
  }

  return {
    operations: async ({ organisation, ...filter }) =>
      operations.list({ ...filter, organisation: await within(organisation) }),
    operation: async ({ organisation, id }) => operations.find(await within(organisation), id),
    async retryOperation(wanted, options) {
      const { organisation, id } = await inOrganisation(wanted)
      await executeAndFollow({ organisation, id }, () => admin.retry(id), options)
      return operations.find(organisation, id)
    },
    async cancelOperation(wanted, options) {
      const { organisation, id } = await inOrganisation(wanted)
      await executeAndFollow({ organisation, id }, () => admin.cancel(id), options)
      return operations.find(organisation, id)
    },
    async verifyOperation(wanted, { signal } = {}) {
      const { organisation, id } = await inOrganisation(wanted)
      const found = await admin.verify(id, { signal })
      return { ...found, operation: await operations.find(organisation, id) }
    },
    async dropOperation(wanted) {
      const { organisation, id } = await inOrganisation(wanted)
      await admin.drop(id)
      return operations.find(organisation, id)
    },
    audit: async ({ organisation, ...filter }) =>
      operations.audit({ ...filter, organisation: await within(organisation) }),
  }
}

interface WhichOperation {
  readonly organisation: string
  readonly id: string
}

/** Does a step such as an answer or a retry, and resolves when the run that it leads to, or the operation, has ended. */
type ExecuteAndFollow = (which: WhichOperation, step: () => Promise<unknown>, options?: ControlOptions) => Promise<void>

export function createFollower({
  operations,
  emitter,
}: {
  readonly operations: Pick<Operations, 'find'>
  readonly emitter: Pick<Emitter, 'on'>
}): ExecuteAndFollow {
  return async ({ organisation, id }, step, { signal } = {}) => {
    // Listens before the step, so that no end is missed.
    const { over, release } = endOfRun(id, emitter)
    try {
      await step()
      const { endedAt } = await operations.find(organisation, id)
      if (endedAt === undefined) await unlessAborted(over, signal)
    } finally {
      release()
    }
  }
}

/** Resolves when a run of this operation is over, or when the operation ends without one. */
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

/** A caller that leaves stops waiting. The recorded operation continues. */
function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const leave = () => reject(new AppError('CANCELLED', 'No caller waits for the operation any more.'))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** The organisation of this name; the default one when absent. Throws `NAME_UNKNOWN`. */
type Within = (named: string | undefined) => Promise<string>

/** For the owner of the data folder. The default organisation always exists, so no store is opened to check it. */
export function ownersWithin(open: () => Promise<Pick<Organisation, 'organisations'>>): Within {
  return async (named = DEFAULT_ORGANISATION) => {
    if (named !== DEFAULT_ORGANISATION) await (await open()).organisations.expect(named)
    return named
  }
}
