import {
  AppError,
  type DelegationRow,
  type DelegationWish,
  isBlank,
  type MessagePart,
  MOST_OPEN_DELEGATIONS,
  MOST_QUEUED_DELEGATIONS,
  MOST_WAITING_MESSAGES,
  type Settings,
  TASK_BYTES,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { canonicalJson, type Digest } from '../kernel/index.ts'
import { bytesOf, foreignConversation } from '../messages/index.ts'
import { reachedPeer } from '../organisation/index.ts'
import { insert, mustExist, mustNotExist, type Write } from '../store/index.ts'
import { heldTasks, type Ledger, type LedgerDeps } from './ledger.ts'
import { type ChainPosition, chainPosition, enforceTurnLimit } from './limits.ts'
import { askedDraft, deliver } from './notices.ts'
import { filesOf } from './wording.ts'

export interface AcceptOptions {
  /** A conversation of the two workspaces; a new one by default. */
  readonly conversationId?: string | undefined
  /** The asker's own id of the message with the task. */
  readonly senderMessageId?: string | undefined
  /** Hops before it came here, as its sender says. */
  readonly hopsBefore?: number | undefined
  /** The parts of the task, if it was not a single text. Its text is made of these. */
  readonly parts?: readonly MessagePart[] | undefined
}

export interface Accepted {
  readonly row: DelegationRow
  /** Whether it existed already under the same key. */
  readonly isRepeat: boolean
}

interface AcceptingDeps extends LedgerDeps {
  readonly digest: Digest
  readonly ledger: Ledger
  readonly settings: Pick<Settings, 'delegationHops' | 'delegationTurns' | 'delegationDeadlineSeconds'>
  /** Limit of open tasks per asker. */
  onDue(at: number): void
}

/** A failed try means that another task got the place, or a workspace has moved. */
const TRIES = 50

export function createAccepting(deps: AcceptingDeps) {
  const { store, clock, ids, digest, messages, ledger, settings, tell } = deps
  const { workspaces } = deps.organisation

  async function repeatOf({ askKey, bodyDigest }: Key): Promise<Accepted | undefined> {
    if (askKey === null) return undefined
    const [row] = await store.find('delegations', { where: { askKey }, limit: 1 })
    if (!row) return undefined
    if (row.bodyDigest === bodyDigest) return { row, isRepeat: true }
    throw new AppError('IDEMPOTENCY_CONFLICT', 'This key was used for another task. Use a new key for a new task.')
  }

  /** A peer is the same by id and by name, even if it cannot be reached any more. */
  async function keyed({ id, organisation }: WorkspaceRow, { idempotencyKey, ...body }: Body): Promise<Key> {
    if (idempotencyKey === undefined) return { askKey: null, bodyDigest: null }
    const to = (await workspaces.seek(organisation, body.to))?.id ?? body.to
    return {
      askKey: digest(canonicalJson([organisation, id, idempotencyKey])),
      bodyDigest: digest(canonicalJson({ ...body, to })),
    }
  }

  async function sidesOf(from: WorkspaceRow, to: string): Promise<Pair> {
    const { self, peer } = await reachedPeer(workspaces, from, { to, alone: 'A workspace cannot give tasks to itself' })
    return { asker: self, peer }
  }

  async function chainFor(
    { asker, peer }: Pair,
    { forTask, hopsBefore }: Pick<DelegationWish, 'forTask'> & Pick<AcceptOptions, 'hopsBefore'>,
  ): Promise<ChainPosition> {
    const { organisation, id: toId } = asker
    const columns = ['id', 'state', 'hops', 'chain', 'startedAt'] as const
    const [held, queued] = await Promise.all([
      store.find('delegations', { where: heldTasks(organisation, toId), columns, limit: MOST_OPEN_DELEGATIONS }),
      store.find('delegations', {
        where: { organisation, toId, state: 'queued' },
        columns,
        limit: MOST_OPEN_DELEGATIONS,
      }),
    ])
    return chainPosition({ asker, peer, held, queued, forTask, hopsBefore, mostHops: settings.delegationHops })
  }

  async function slotFor(peer: WorkspaceRow): Promise<number | null> {
    const { organisation, id: toId, workspace } = peer
    const queued = await store.count('delegations', { organisation, toId, state: 'queued' })
    if (queued >= MOST_QUEUED_DELEGATIONS) throw full(workspace, MOST_QUEUED_DELEGATIONS)
    // A new task does not overtake waiting ones.
    if (queued > 0) return null
    return (await ledger.freeSlot(peer)) ?? null
  }

  function rowOf(
    { asker, peer }: Pair,
    wish: DelegationWish,
    more: Key & ChainPosition & Pick<DelegationRow, 'slot' | 'attachments' | 'conversationId' | 'parts'>,
  ): DelegationRow {
    const createdAt = Math.round(clock.now())
    const deadlineAt = createdAt + (wish.deadlineSeconds ?? settings.delegationDeadlineSeconds) * 1_000
    const messageId = ids.next('msg')
    return {
      id: ids.next('task'),
      organisation: asker.organisation,
      workspace: asker.workspace,
      fromId: asker.id,
      fromName: asker.workspace,
      toId: peer.id,
      toName: peer.workspace,
      state: more.slot === null ? 'queued' : 'pending',
      task: wish.task,
      ...more,
      deadlineAt,
      dueAt: deadlineAt,
      messageId,
      activityId: `${messageId}_in`,
      result: null,
      error: null,
      progress: null,
      progressAt: null,
      createdAt,
      updatedAt: createdAt,
      startedAt: null,
      endedAt: null,
      noticeId: null,
      version: 1,
    }
  }

  async function attempt(
    from: WorkspaceRow,
    wish: DelegationWish,
    { key, conversationId: named, senderMessageId, hopsBefore, parts: own }: { readonly key: Key } & AcceptOptions,
  ): Promise<Accepted | undefined> {
    const { asker, peer } = await sidesOf(from, wish.to)
    const [chain] = await Promise.all([
      chainFor({ asker, peer }, { forTask: wish.forTask, hopsBefore }),
      enforceTurnLimit(store, { asker, peer, now: clock.now(), most: settings.delegationTurns }),
    ])
    if (await messages.inbox.isFull(peer)) throw full(peer.workspace, MOST_WAITING_MESSAGES)
    const files = await filesOf(deps.attachments, asker, wish.attachments ?? [])
    const slot = await slotFor(peer)
    const conversationId = named ?? ids.next('conv')
    const parts = own ? [...own] : null
    const row = rowOf({ asker, peer }, wish, {
      ...key,
      ...chain,
      slot,
      conversationId,
      attachments: files.facts,
      parts,
    })
    const drafts = [
      askedDraft(row, asker, senderMessageId),
      ...(slot === null ? [] : [deliver(row, peer, row.createdAt)]),
    ]
    const outcome = await messages.sending.commit(drafts, [
      ...guardsOf({ asker, peer }, slot),
      ...(named === undefined ? [] : ownConversation({ asker, peer }, named)),
      insert('delegations', row, 'delegation.key'),
      ...(await files.writesFor(drafts)),
    ])
    if (!outcome.committed) {
      if (outcome.failed.guard === 'conversation.own') throw foreignConversation(conversationId)
      return undefined
    }
    tell({
      organisation: row.organisation,
      id: row.id,
      from: row.fromName,
      to: row.toName,
      before: undefined,
      state: row.state,
      at: row.createdAt,
    })
    return { row, isRepeat: false }
  }

  return {
    /** Stores a new delegation and hands it to the peer, or queues it. The same key and content is the same delegation. */
    async accept(from: WorkspaceRow, wish: DelegationWish, options: AcceptOptions = {}): Promise<Accepted> {
      const { conversationId, parts } = options
      refuseLarge(wish.task, parts)
      const more = { ...(conversationId !== undefined && { conversationId }), ...(parts && { parts }) }
      // Texts made of parts are equal whatever the order of the parts' keys.
      const { task, ...rest } = wish
      const key = await keyed(from, { ...rest, ...(parts ? {} : { task }), ...more })
      for (let tries = 0; tries < TRIES; tries++) {
        const done = (await repeatOf(key)) ?? (await attempt(from, wish, { key, ...options }))
        if (!done) continue
        if (done.isRepeat) return done
        deps.onDue(done.row.deadlineAt)
        if (done.row.state !== 'queued') return done
        // The last running task may have ended while this one was queued.
        await ledger.advance(done.row.organisation, done.row.toId)
        return { row: (await ledger.get(done.row.organisation, done.row.id)) ?? done.row, isRepeat: false }
      }
      throw new AppError('STORE_BUSY', 'Too many tasks are given to this peer at the same time. Try again in a moment.')
    },
  }
}

interface Pair {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
}

type Body = Omit<DelegationWish, 'task'> & Partial<DelegationWish> & Pick<AcceptOptions, 'conversationId' | 'parts'>

interface Key {
  readonly askKey: string | null
  readonly bodyDigest: string | null
}

/** Guards that both workspaces are where they were, the place is still free, and the peer has not delegated anything meanwhile. */
function guardsOf({ asker, peer }: Pair, slot: number | null): Write[] {
  const places = [asker, peer].map(({ id, parentId, status }) =>
    mustExist('workspaces', { id, parentId, status }, 'workspace.place'),
  )
  // Checked by place, which only open tasks have: the commit must not scan all past tasks of the two.
  const back = { fromId: peer.id, toId: asker.id }
  const { organisation } = asker
  return [
    ...places,
    mustNotExist('delegations', { ...back, slot: { atLeast: 1 } }, 'delegation.loop'),
    mustNotExist('delegations', { ...back, organisation, state: 'queued' }, 'delegation.loop'),
    ...(slot === null ? [] : [mustNotExist('delegations', { toId: peer.id, slot }, 'delegation.slot')]),
  ]
}

/** A conversation groups messages, so it must be one between these two alone. */
function ownConversation({ asker, peer }: Pair, conversationId: string): Write[] {
  return [
    { of: asker.id, with: peer.id },
    { of: peer.id, with: asker.id },
  ].flatMap(({ of: workspaceId, with: other }) => [
    mustNotExist(
      'activity',
      { workspaceId, conversationId, peerKind: 'workspace', peerId: { not: other } },
      'conversation.own',
    ),
    mustNotExist('activity', { workspaceId, conversationId, peerKind: 'person' }, 'conversation.own'),
  ])
}

function refuseLarge(task: string, parts: AcceptOptions['parts']): void {
  if (isBlank(task)) throw new AppError('INPUT_INVALID', '"task" is empty. Say what the peer is to do.')
  const size = bytesOf(parts ? JSON.stringify(parts) : task)
  if (size <= TASK_BYTES) return
  const message = `A task has at most ${TASK_BYTES} bytes; this has ${size}. Attach what is longer.`
  throw new AppError('LIMIT_EXCEEDED', message, { details: { limit: TASK_BYTES } })
}

function full(peer: string, limit: number): AppError {
  const message = `${limit} already wait for "${peer}", which is the limit. Try again later, or ask another peer.`
  return new AppError('LIMIT_EXCEEDED', message, { details: { limit } })
}
