import {
  AppError,
  type DELEGATION_ROUTES,
  type DelegationDetail,
  type DelegationPage,
  type DelegationRow,
  type DelegationService,
  type DelegationWish,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import {
  type CancelSignal,
  type Clock,
  createEmitter,
  type Digest,
  type Emitter,
  escapeLine,
  type Ids,
  type Log,
} from '../kernel/index.ts'
import {
  type Attachments,
  type CarriedTasks,
  createWatchers,
  type Messages,
  NO_ATTACHMENTS,
  waitUntilFound,
} from '../messages/index.ts'
import { type ApiCaller, type Handlers, isNamed, type Organisation, workspaceOf } from '../organisation/index.ts'
import { type Store, type StoreNews } from '../store/index.ts'
import { type Accepted, type AcceptOptions, createAccepting } from './accepting.ts'
import { type Answered, createAnswering, type PeerWords } from './answering.ts'
import { createLedger, delegationDetail, delegationFacts, isOpen, type LedgerDeps, OPEN_STATES } from './ledger.ts'
import { type BetweenPage, type BetweenQuery, createBetween, createListing, type ListQuery } from './listing.ts'
import { carriedTasks, createSettling } from './settling.ts'
import { createSweeper } from './sweeper.ts'
import { unknownTask } from './wording.ts'

/** Tasks that workspaces give each other, each with exactly one outcome. */
export interface Delegations {
  /** Throws `PEER_NOT_FOUND` for an unreachable peer and `DELEGATION_LOOP` for a circular task. */
  delegate(asker: WorkspaceRow, wish: DelegationWish, options?: AcceptOptions): Promise<Accepted>
  /** Waits for the end; returns the present state at the time limit. */
  wait(row: DelegationRow, options: WaitForEnd): Promise<DelegationRow>
  /** A task that this workspace gave or has. Throws `NAME_UNKNOWN`. */
  expect(workspace: WorkspaceRow, id: string): Promise<DelegationRow>
  /** Any task of the organisation, for its owner and persons. */
  expectAny(organisation: string, id: string): Promise<DelegationRow>
  detail(row: DelegationRow, offset?: number): Promise<DelegationDetail>
  list(query: ListQuery): Promise<DelegationPage>
  /** The tasks that one workspace gave another, last changed first. */
  between(query: BetweenQuery): Promise<BetweenPage>
  /** The peer's answer to the task with this id. */
  reply(peer: WorkspaceRow, id: string, reply: PeerWords): Promise<DelegationRow>
  /** Records the peer's progress for readers of the task, without a message. */
  note(peer: WorkspaceRow, id: string, words: string | undefined): Promise<DelegationRow>
  /** Answers the task that a message of the peer's log carries; `undefined` if it carries none that this peer can answer. */
  replyTo(peer: WorkspaceRow, activityId: string, said: PeerWords): Promise<Answered | undefined>
  /** Cancels, if called by the asker; fails, if called by the peer. */
  cancel(workspace: WorkspaceRow, id: string): Promise<DelegationRow>
  /** Cancels on behalf of the owner. */
  cancelAny(organisation: string, id: string): Promise<DelegationRow>
  /** Updates tasks when their messages are handed out and answered. */
  readonly carried: CarriedTasks
  /** The asker received the result with an answer. */
  seen(row: DelegationRow): Promise<void>
  /** Emits `delegation.changed`. */
  readonly events: Pick<Emitter, 'on'>
  start(): void
  sweep(): Promise<void>
  prune(): Promise<number>
  /** Ends all waiting and all timers. */
  stop(): Promise<void>
}

interface WaitForEnd {
  readonly waitMs: number
  readonly signal?: CancelSignal | undefined
  /** Called on every change, and from time to time without one. */
  onChange?(row: DelegationRow): void
}

interface DelegationsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly log: Log
  /** Notifications of other processes; absent if the store is not shared. */
  readonly news?: StoreNews | undefined
  readonly organisation: Pick<Organisation, 'workspaces' | 'presence' | 'events'>
  readonly messages: Pick<Messages, 'sending' | 'inbox' | 'activity'>
  /** Stores files; without it delegations carry none. */
  readonly attachments?: Attachments | undefined
  readonly settings: Pick<
    Settings,
    'delegationHops' | 'delegationTurns' | 'delegationDeadlineSeconds' | 'delegationQuietSeconds' | 'activityDays'
  >
  readonly isOurs?: (() => boolean) | undefined
}

export function createDelegations(deps: DelegationsDeps): Delegations {
  const { store, clock, log, news, organisation, messages } = deps
  const watchers = createWatchers()
  const emitter = createEmitter({
    onError: (error, event) => log.error('a listener failed', { event, error: String(error) }),
  })
  const parts: LedgerDeps = {
    ...deps,
    attachments: deps.attachments ?? NO_ATTACHMENTS,
    tell(change) {
      watchers.tell([change.id])
      emitter.emit('delegation.changed', change)
    },
  }
  const ledger = createLedger(parts)
  const settling = createSettling({ ...deps, ...parts, ledger })
  const answering = createAnswering({ ...parts, ledger, digest: deps.digest })
  const sweeper = createSweeper({ ...deps, ledger, settling })
  const { accept } = createAccepting({ ...deps, ...parts, ledger, onDue: sweeper.expect })
  const offs = [
    organisation.events.on('workspace.changed', ({ organisation: of, id, status }) => {
      if (status === 'archived') endArchived(of, id)
    }),
    ...(news ? [news.listen({ changed: onNews, lost: watchers.lost, back: watchers.back })] : []),
  ]

  function endArchived(of: string, id: string): void {
    // The sweeper ends them if this fails.
    sweeper
      .archived(of, id)
      .catch(error => log.warn('ending the tasks of an archived workspace failed', { error: String(error) }))
  }

  function onNews(rows: Parameters<typeof watchers.changed>[0]): void {
    for (const { table, ids } of rows) {
      if (table !== 'delegations') continue
      if (ids === 'any') watchers.back()
      else watchers.tell(ids)
    }
  }

  async function expectAny(of: string, id: string): Promise<DelegationRow> {
    const row = await ledger.get(of, id)
    if (row) return row
    throw unknownTask(id)
  }

  async function expect(workspace: WorkspaceRow, id: string): Promise<DelegationRow> {
    const row = await ledger.get(workspace.organisation, id)
    if (row && (row.fromId === workspace.id || row.toId === workspace.id)) return row
    throw unknownTask(id)
  }

  async function reply(peer: WorkspaceRow, id: string, said: PeerWords): Promise<DelegationRow> {
    const row = await taskOfPeer(peer, id)
    return (await answering.repeatOf(row, said))?.row ?? (await answering.reply(row, peer, said)).row
  }

  async function taskOfPeer(peer: WorkspaceRow, id: string): Promise<DelegationRow> {
    const row = await expect(peer, id)
    if (row.toId === peer.id) return row
    throw new AppError(
      'INPUT_INVALID',
      `You delegated the task "${id}" yourself. Its peer answers it; you can cancel it.`,
    )
  }

  /** The task that a message of this log carries, of either side. */
  async function taskIn(owner: WorkspaceRow, activityId: string): Promise<CarriedTask | undefined> {
    const message = await messages.activity.get(owner, activityId)
    if (message?.direction !== 'in' || message.kind !== 'peer_agent' || message.delegationId === null) return undefined
    const row = await ledger.get(owner.organisation, message.delegationId)
    // A message about a task answers something. It may be handed out more than once, and each time answers nothing.
    return row && { row, isTaskItself: message.inReplyTo === null }
  }

  async function openIn(owner: WorkspaceRow, activityId: string): Promise<string | undefined> {
    const task = await taskIn(owner, activityId)
    return task?.isTaskItself && isOpen(task.row.state) ? task.row.id : undefined
  }

  async function isOpenFor(peer: WorkspaceRow, id: string): Promise<boolean> {
    const row = await ledger.get(peer.organisation, id)
    return row?.toId === peer.id && isOpen(row.state)
  }

  async function replyTo(peer: WorkspaceRow, activityId: string, said: PeerWords): Promise<Answered | undefined> {
    const { row, isTaskItself } = (await taskIn(peer, activityId)) ?? {}
    const isPeers = row?.toId === peer.id
    const repeat = row && isPeers ? await answering.repeatOf(row, said) : undefined
    if (repeat) return repeat
    // Messages around a closed task are ordinary; only an answer to the task itself is too late.
    const isOver = row && !isOpen(row.state) && !isTaskItself && said.outcome === undefined
    const again = row && isPeers && isOver ? answering.endedWith(row, said) : undefined
    if (again) return again
    if (row && isPeers && !isOver) return answering.reply(row, peer, said, activityId)
    return undefined
  }

  async function wait(row: DelegationRow, { waitMs, signal, onChange }: WaitForEnd): Promise<DelegationRow> {
    let last = row
    let reportedAt = clock.now()
    if (!isOpen(row.state) || waitMs <= 0) return row
    const found = await waitUntilFound({ clock, watchers, news }, { workspaceId: row.id, waitMs, signal }, async () => {
      const now = (await ledger.get(row.organisation, row.id)) ?? last
      if (now.version !== last.version || clock.now() - reportedAt >= PROGRESS_MS) {
        onChange?.(now)
        reportedAt = clock.now()
      }
      last = now
      return isOpen(now.state) ? { again: onChange && reportedAt + PROGRESS_MS } : { found: now }
    })
    return found ?? last
  }

  return {
    delegate: accept,
    wait,
    expect,
    expectAny,
    list: createListing({ ...deps, ledger }),
    between: createBetween(store),
    reply,
    note: async (peer, id, words) => answering.note(await taskOfPeer(peer, id), words),
    replyTo,
    async detail(row, offset) {
      const { peer } = await ledger.sides(row)
      return delegationDetail(row, delegationFacts(row, peer, organisation.presence), offset)
    },
    async cancel(workspace, id) {
      const row = await expect(workspace, id)
      if (row.fromId === workspace.id) return settling.cancel(row, 'asker')
      const message = `"${workspace.workspace}" has declined the task.`
      return (await answering.reply(row, workspace, { message, outcome: 'failed' })).row
    },
    cancelAny: async (of, id) => settling.cancel(await expectAny(of, id), 'owner'),
    carried: carriedTasks({ ...settling, openIn, isOpen: isOpenFor, replyTo }),
    seen: settling.markRead,
    events: emitter,
    start: sweeper.start,
    sweep: sweeper.sweep,
    prune: sweeper.prune,
    async stop() {
      for (const off of offs) off()
      watchers.stop()
      await sweeper.stop()
    },
  }
}

interface CarriedTask {
  readonly row: DelegationRow
  /** Whether the message is the task itself, rather than a message about it. */
  readonly isTaskItself: boolean
}

/** Clients cancel a call without progress, many after a minute; regular progress keeps it open. */
const PROGRESS_MS = 15_000

/** As many as a model looks through for a lost task. */
const MOST_OPEN = 10

interface DelegationServiceDeps {
  readonly delegations: Delegations
  readonly organisation: Organisation
  readonly settings: Pick<Settings, 'delegationWaitSeconds'>
}

/** Delegations for an agent's tools, on behalf of its workspace. */
export function createDelegationService({
  delegations,
  organisation,
  settings,
}: DelegationServiceDeps): DelegationService {
  return {
    async delegate(actor, wish) {
      const asker = await workspaceOf(organisation, actor)
      return delegations.detail((await delegations.delegate(asker, wish)).row)
    },
    async wait(actor, id, onChange) {
      const asker = await workspaceOf(organisation, actor)
      const waitMs = settings.delegationWaitSeconds * 1_000
      const { signal } = actor
      const row = await delegations.wait(await delegations.expect(asker, id), {
        waitMs,
        signal,
        onChange: now => onChange(wordsFor(now)),
      })
      // Whether the answer arrived is unknown here; the notice tells an asker that disconnected.
      if (!isOpen(row.state) && !signal.aborted) await delegations.seen(row)
      return delegations.detail(row)
    },
    async show(actor, id, offset) {
      const asker = await workspaceOf(organisation, actor)
      return delegations.detail(await delegations.expect(asker, id), offset)
    },
    async open(actor) {
      const workspace = await workspaceOf(organisation, actor)
      const states = OPEN_STATES
      const page = await delegations.list({ organisation: workspace.organisation, workspace, states, limit: MOST_OPEN })
      return page.delegations
    },
    async cancel(actor, id) {
      return delegations.detail(await delegations.cancel(await workspaceOf(organisation, actor), id))
    },
  }
}

/** Names and words of peers are quoted, with quotation marks inside escaped. */
function wordsFor({ state, progress, toName }: DelegationRow): string {
  const peer = literal(toName)
  if (state !== 'in_progress') return `${peer}: ${state}`
  return progress === null ? `${peer} has taken the task` : `${peer} says ${literal(progress)}`
}

const literal = (text: string) => escapeLine(JSON.stringify(text))

interface DelegationHandlersDeps {
  readonly delegations: Delegations
  readonly organisation: Organisation
}

/** API handlers for delegations. */
export function delegationHandlers({
  delegations,
  organisation,
}: DelegationHandlersDeps): Handlers<keyof typeof DELEGATION_ROUTES> {
  const { workspaces, presence } = organisation

  /** Tasks a caller may see: a workspace its own, other callers those of their organisation. */
  function seen(visitor: ApiCaller, id: string): Promise<DelegationRow> {
    if (visitor.kind === 'workspace') return delegations.expect(visitor.workspace, id)
    return delegations.expectAny(visitor.organisation, id)
  }

  /** The workspace whose list is meant; the whole organisation if the caller is no workspace and names none. */
  async function listedWorkspace(visitor: ApiCaller, id: string | undefined): Promise<WorkspaceRow | undefined> {
    if (visitor.kind !== 'workspace') return id === undefined ? undefined : workspaces.pick(visitor.organisation, id)
    const { workspace } = visitor
    if (id === undefined || isNamed(workspace, id)) return workspace
    throw new AppError('NAME_UNKNOWN', 'A workspace sees its own delegations. Leave workspaceId out.')
  }

  return {
    async createDelegation({ workspace }, { body }) {
      presence.beat(workspace)
      return delegations.detail((await delegations.delegate(workspace, body)).row)
    },
    async listDelegations(visitor, { query: { workspaceId, role, state, limit, cursor } }) {
      const workspace = await listedWorkspace(visitor, workspaceId)
      const states = state && [state]
      return delegations.list({ organisation: visitor.organisation, workspace, as: role, states, limit, cursor })
    },
    async showDelegation(visitor, { params: { id }, query: { waitSeconds = 0, offset } }, { gone }) {
      const row = await seen(visitor, id)
      return delegations.detail(await delegations.wait(row, { waitMs: waitSeconds * 1_000, signal: gone }), offset)
    },
    replyToDelegation: async ({ workspace }, { params: { id }, body }) =>
      delegations.detail(await delegations.reply(workspace, id, body)),
    async cancelDelegation(visitor, { params: { id } }) {
      const row =
        visitor.kind === 'workspace'
          ? await delegations.cancel(visitor.workspace, id)
          : await delegations.cancelAny(visitor.organisation, id)
      return delegations.detail(row)
    },
  }
}
