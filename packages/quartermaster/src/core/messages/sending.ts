import {
  type Ability,
  type ActivityRow,
  AppError,
  type BroadcastFacts,
  type ErrorCode,
  isAppError,
  MOST_WAITING_MESSAGES,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { attachmentGone, isAttachmentGone } from '../attachments/index.ts'
import { type Clock, canonicalJson, type Digest, type Ids } from '../kernel/index.ts'
import { mayReach, noPeer, type Organisation, reachedPeer } from '../organisation/index.ts'
import { type CommitOutcome, type Store, type Write } from '../store/index.ts'
import { type CarriedTasks, type Inbox, TASK_GUARD, type TaskChange, taskBusy } from './inbox.ts'
import {
  type Attachments,
  activityId,
  chatOf,
  draftMessage,
  factsOf,
  foreignConversation,
  guardsOf,
  type Key,
  keyScope,
  type MessageDraft,
  needsTask,
  type OutgoingMessage,
  type Party,
  type Post,
  peopleParty,
  personParty,
  refuseLarge,
  type SendConflict,
  type Sent,
  sentOf,
  workspaceParty,
} from './message.ts'

export interface Sending {
  /** Sends to a reachable peer, by id or name. Throws `PEER_NOT_FOUND` for all others alike. */
  toPeer(from: WorkspaceRow, to: string, post: Post): Promise<Sent>
  /** Sends to every reachable peer. Throws `REQUEST_REFUSED` without the ability. */
  broadcast(from: WorkspaceRow, post: Post & { idempotencyKey: string }, signal: AbortSignal): Promise<BroadcastFacts>
  /** Sends a person's message to a workspace. */
  fromPerson(person: string, to: WorkspaceRow, post: Post): Promise<Sent>
  /** Posts to the chat of a workspace. No inbox gets it. */
  toPeople(from: WorkspaceRow, post: Post): Promise<Sent>
  /** Answers a message of this workspace's log and acknowledges it in the same commit. Throws `NAME_UNKNOWN`. */
  reply(from: WorkspaceRow, activityId: string, post: Post): Promise<Sent>
  /** The message this workspace sent under this key, if any. */
  sentBefore(from: WorkspaceRow, idempotencyKey: string): Promise<ActivityRow | undefined>
  /** Commits drafts with related writes and wakes waiting readers. */
  commit(drafts: readonly MessageDraft[], more?: readonly Write[]): Promise<CommitOutcome>
}

interface SendingDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly organisation: Pick<Organisation, 'workspaces'>
  readonly attachments: Attachments
  readonly inbox: Inbox
  readonly tasks?: (() => CarriedTasks | undefined) | undefined
  tell(workspaceIds: readonly string[]): void
}

const MAY_BROADCAST: Ability = 'broadcast'

/** Errors that keep a single peer from getting a broadcast. */
const PEER_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'LIMIT_EXCEEDED',
  'REQUEST_REFUSED',
  'PEER_NOT_FOUND',
  'EDIT_CONFLICT',
])

/** How often sending is retried when a workspace moves meanwhile. */
const TRIES = 3

export function createSending(deps: SendingDeps): Sending {
  const { store, clock, ids, digest, inbox } = deps
  const { workspaces } = deps.organisation

  async function commit(drafts: readonly MessageDraft[], more: readonly Write[] = []): Promise<CommitOutcome> {
    const outcome = await store.commit([...more, ...drafts.flatMap(({ writes }) => writes)])
    if (outcome.committed) deps.tell([...new Set(drafts.flatMap(({ workspaceIds }) => workspaceIds))])
    return outcome
  }

  const peerOf = (from: WorkspaceRow, to: string) =>
    reachedPeer(workspaces, from, { to, alone: 'A workspace cannot write to itself' })

  async function post(outgoing: OutgoingMessage): Promise<Sent | SendConflict> {
    const { organisation, from, to, sent, kind } = outgoing
    const key = keyed(outgoing)
    const before = key && (await repeatOf(key))
    if (before) return before
    if (to.workspace) await refuseFull(to.workspace)
    if (to.workspace?.origin === 'external') await requireOwnTask(to.workspace, outgoing)
    refuseLarge(sent)
    const messageId = ids.next('msg')
    const { facts, writes } = await fileUses(outgoing, messageId)
    const draft = draftMessage({
      messageId,
      organisation,
      from,
      to,
      kind,
      text: sent.text,
      parts: sent.parts,
      attachments: facts,
      conversationId: outgoing.conversationId ?? ids.next('conv'),
      answers: outgoing.answers?.messageId,
      delegationId: outgoing.answers?.delegationId ?? undefined,
      ...key,
      senderMessageId: sent.senderMessageId,
      createdAt: Math.round(clock.now()),
    })
    const task = await taskChangeOf(outgoing)
    const more = [...(task ? [task.write] : []), ...guardsOf(outgoing), ...(outgoing.more ?? []), ...writes]
    const outcome = await commit([draft], more)
    if (outcome.committed) {
      task?.tell()
      return sentOf(draft)
    }
    if (isAttachmentGone(outcome.failed)) throw attachmentGone()
    const { guard } = outcome.failed
    if (guard === 'workspace.place') return { conflict: 'place' }
    if (guard === TASK_GUARD) return { conflict: 'task', taskId: outgoing.answers?.delegationId ?? '' }
    if (guard === 'conversation.own') throw foreignConversation(sent.conversationId ?? '')
    const repeat = key && (await repeatOf(key))
    if (repeat) return repeat
    throw new AppError('EDIT_CONFLICT', 'The message could not be written as things are now. Try again.')
  }

  /** Retries with fresh state until the message is written. */
  async function postWithRetry(
    outgoing: () => Promise<OutgoingMessage>,
    unreachable: () => AppError | Promise<AppError>,
  ): Promise<Sent> {
    let last: SendConflict = { conflict: 'place' }
    for (let tries = 0; tries < TRIES; tries++) {
      const outcome = await post(await outgoing())
      if (!('conflict' in outcome)) return outcome
      last = outcome
    }
    throw last.conflict === 'task' ? taskBusy(last.taskId) : await unreachable()
  }

  async function sentUnder(sentKey: string): Promise<ActivityRow | undefined> {
    const [row] = await store.find('activity', { where: { sentKey }, limit: 1 })
    return row
  }

  async function repeatOf({ sentKey, bodyDigest }: Key): Promise<Sent | undefined> {
    const row = await sentUnder(sentKey)
    if (!row) return undefined
    if (row.bodyDigest === bodyDigest) return { ...factsOf(row), isRepeat: true }
    const message = 'This key was used for another message. Use a new key for a new message.'
    throw new AppError('IDEMPOTENCY_CONFLICT', message)
  }

  function sentKeyOf({ kind, workspace, id }: Party, key: string, scope: readonly string[] = []): string {
    return digest(canonicalJson([kind, workspace?.organisation, id, key, ...scope]))
  }

  function keyed({ from, to, sent }: OutgoingMessage): Key | undefined {
    const { idempotencyKey, named, senderMessageId: _, ...body } = sent
    if (idempotencyKey === undefined) return undefined
    return {
      sentKey: sentKeyOf(from, idempotencyKey, keyScope(from, to)),
      bodyDigest: digest(canonicalJson({ to: to.id, ...body, ...(named && { attachments: named }) })),
    }
  }

  /** A task that asked a question records that it was answered. */
  async function taskChangeOf({ from, answers }: OutgoingMessage): Promise<TaskChange | undefined> {
    const taskId = answers?.delegationId ?? null
    return from.workspace && taskId !== null ? deps.tasks?.()?.onAskerMessage(from.workspace, taskId) : undefined
  }

  /** A remote A2A agent has no inbox: it only gets messages about its tasks. */
  async function requireOwnTask(to: WorkspaceRow, { answers }: OutgoingMessage): Promise<void> {
    const taskId = answers?.delegationId ?? null
    if (taskId !== null && (await deps.tasks?.()?.isOpen(to, taskId))) return
    throw needsTask(to.workspace, taskId)
  }

  async function refuseFull(to: WorkspaceRow): Promise<void> {
    if (!(await inbox.isFull(to))) return
    const message = `${MOST_WAITING_MESSAGES} messages already wait in the inbox of "${to.workspace}", which is the limit. Try again when it has read some.`
    throw new AppError('LIMIT_EXCEEDED', message, { details: { limit: MOST_WAITING_MESSAGES } })
  }

  /** The uses of its files by both of its rows. */
  async function fileUses({ organisation, from, to, sent }: OutgoingMessage, messageId: string) {
    const { attachments: wanted = [] } = sent
    if (wanted.length === 0) return { facts: [], writes: [] }
    const rows = ([from, to] as const).flatMap(({ workspace: row }, i) =>
      row ? [{ id: activityId(messageId, i === 0 ? 'out' : 'in'), workspaceId: row.id, workspace: row.workspace }] : [],
    )
    return deps.attachments.usesOf(wanted, { organisation, workspaceId: from.workspace?.id ?? null }, rows)
  }

  function toPeer(from: WorkspaceRow, to: string, sent: Post): Promise<Sent> {
    async function outgoing(): Promise<OutgoingMessage> {
      const { self, peer } = await peerOf(from, to)
      const answers = sent.inReplyTo === undefined ? undefined : await answered(self, sent.inReplyTo, peer.id)
      return {
        organisation: self.organisation,
        from: workspaceParty(self),
        to: workspaceParty(peer),
        kind: 'peer_agent',
        sent,
        conversationId: sent.conversationId ?? answers?.conversationId,
        answers,
      }
    }
    return postWithRetry(outgoing, () => noPeer(workspaces, from, to))
  }

  /** A message received in this log, from this peer if given. */
  async function answered(self: WorkspaceRow, id: string, peerId?: string): Promise<ActivityRow> {
    const row = await store.get('activity', id)
    const isOwn = row?.workspaceId === self.id && row.organisation === self.organisation && row.direction === 'in'
    if (row && isOwn && (peerId === undefined || row.peerId === peerId)) return row
    const where = peerId === undefined ? 'in your log' : 'of this peer in your log'
    throw new AppError(
      'NAME_UNKNOWN',
      `There is no message ${where} that has this id. Take the activity_id of one you received.`,
    )
  }

  /** A message that a workspace posted in its chat. */
  async function chatMessage({ id: workspaceId, organisation }: WorkspaceRow, id: string): Promise<ActivityRow> {
    const row = await store.get('activity', id)
    const isOwn = row?.workspaceId === workspaceId && row.organisation === organisation
    if (row && isOwn && row.direction === 'out' && row.peerKind === 'person') return row
    throw new AppError(
      'NAME_UNKNOWN',
      'This workspace has posted no chat message with this id. Take the id of one of its entries.',
    )
  }

  async function reply(from: WorkspaceRow, id: string, answer: Post): Promise<Sent> {
    const ofTask = await deps.tasks?.()?.reply(from, id, answer)
    if (ofTask) return ofTask
    const { outcome: _, ...sent } = answer
    async function outgoing(): Promise<OutgoingMessage> {
      const answers = await answered(from, id)
      const { to, self } = await recipientOf(from, answers)
      return {
        organisation: self.organisation,
        from: workspaceParty(self),
        to,
        kind: to.kind === 'person' ? 'canvas_user' : 'peer_agent',
        sent: { ...sent, inReplyTo: id },
        conversationId: answers.conversationId,
        answers,
        more: inbox.popWrites(self, id),
      }
    }
    return postWithRetry(outgoing, () => new AppError('PEER_NOT_FOUND', 'The sender cannot be reached any more.'))
  }

  /** The recipient of an answer. */
  async function recipientOf(from: WorkspaceRow, { peerKind, peerId, peerName }: ActivityRow) {
    if (peerKind === 'person') return { self: from, to: personParty(peerName) }
    if (peerKind === 'workspace') {
      const { self, peer } = await peerOf(from, peerId)
      return { self, to: workspaceParty(peer) }
    }
    throw new AppError(
      'INPUT_INVALID',
      'This is a notice of the platform, which reads no answers. Take it out of the inbox.',
    )
  }

  async function broadcast(from: WorkspaceRow, sent: Post & { idempotencyKey: string }, signal: AbortSignal) {
    const self = (await workspaces.find(from.organisation, from.id)) ?? from
    if (!self.abilities.includes(MAY_BROADCAST)) {
      const message = `Messages to all peers are sent by workspaces with the ability "${MAY_BROADCAST}", which an administrator gives. Nothing was sent. Delegate to the peer that it concerns.`
      throw new AppError('REQUEST_REFUSED', message)
    }
    refuseLarge(sent)
    const peers = (await workspaces.reachable(self)).filter(({ id }) => id !== self.id)
    const missed: { id: string; name: string; reason: string }[] = []
    for (const { id, workspace: name } of peers) {
      signal.throwIfAborted()
      try {
        await toPeer(self, id, { ...sent, idempotencyKey: canonicalJson([sent.idempotencyKey, id]) })
      } catch (error) {
        if (!isAppError(error) || !PEER_ERRORS.has(error.code)) throw error
        missed.push({ id, name, reason: error.message })
      }
    }
    return { reached: peers.length - missed.length, missed }
  }

  return {
    toPeer,
    broadcast,
    reply,
    sentBefore: (from, key) => sentUnder(sentKeyOf(workspaceParty(from), key)),
    commit,
    async toPeople({ organisation, id }, sent) {
      const unavailable = () =>
        new AppError('EDIT_CONFLICT', 'This workspace is archived, or is being moved. Nothing was sent.')
      async function outgoing(): Promise<OutgoingMessage> {
        const self = await workspaces.find(organisation, id)
        if (self?.status !== 'active') throw unavailable()
        const conversationId = chatOf(id)
        return {
          organisation,
          from: workspaceParty(self),
          to: peopleParty(),
          kind: 'canvas_user',
          sent,
          conversationId,
        }
      }
      return postWithRetry(outgoing, unavailable)
    },
    async fromPerson(person, to, sent) {
      if (to.status !== 'active')
        throw new AppError('EDIT_CONFLICT', `The workspace "${to.workspace}" is archived and reads no messages.`)
      const answers = sent.inReplyTo === undefined ? undefined : await chatMessage(to, sent.inReplyTo)
      const outcome = await post({
        organisation: to.organisation,
        from: personParty(person),
        to: workspaceParty(to),
        kind: 'canvas_user',
        sent,
        conversationId: chatOf(to.id),
        answers,
      })
      if (!('conflict' in outcome)) return outcome
      throw new AppError(
        'EDIT_CONFLICT',
        `The workspace "${to.workspace}" was moved or archived meanwhile. Look again.`,
      )
    },
  }
}

/** Resolves an id or a name to the peer id in a log. Throws `PEER_NOT_FOUND`. */
export type FindLogPeer = (owner: WorkspaceRow, idOrName: string) => Promise<string>

export function createLogPeers({
  store,
  organisation: { workspaces },
}: {
  store: Store
  organisation: Pick<Organisation, 'workspaces'>
}): FindLogPeer {
  async function isInLog({ id: workspaceId, organisation }: WorkspaceRow, peerId: string): Promise<boolean> {
    const where = { organisation, workspaceId, peerId }
    return (await store.find('activity', { where, limit: 1, columns: ['id'] })).length > 0
  }

  return async (owner, named) => {
    const row = await workspaces.seek(owner.organisation, named)
    const isOwn = row?.id === owner.id
    // Past messages stay readable when the peer is out of reach by now.
    if (row && !isOwn && (mayReach(owner, row) || (await isInLog(owner, row.id)))) return row.id
    if (OTHERS.test(named)) return named
    if (isOwn)
      throw new AppError('INPUT_INVALID', 'This is your own workspace, which has no messages with itself; name a peer.')
    // A person has a name as well.
    for (const id of [named, `person:${named}`]) if (await isInLog(owner, id)) return id
    throw await noPeer(workspaces, owner, named)
  }
}

/** Names of persons and of the platform in a log. A peer of the same name wins. */
const OTHERS = /^(?:person:.+|people|platform)$/s
