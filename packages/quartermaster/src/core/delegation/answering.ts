import {
  AppError,
  DELEGATION_RESULT_BYTES,
  type DelegationOutcome,
  type DelegationReply,
  type DelegationResult,
  type DelegationRow,
  isBlank,
  MESSAGE_BYTES,
  MOST_WAITING_MESSAGES,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { canonicalJson, type Digest } from '../kernel/index.ts'
import { bytesOf, type MessageDraft } from '../messages/index.ts'
import { type Ledger, type LedgerDeps, nextStep, type StepParts } from './ledger.ts'
import { characterStart, replyDraft, resultText, truncated } from './notices.ts'
import { filesOf, notDelivered } from './wording.ts'

export interface PeerWords extends DelegationReply {
  /** The same key with the same content is the same answer. */
  readonly idempotencyKey?: string | undefined
  /** The attachments as the peer named them, if not by id. */
  readonly named?: readonly string[] | undefined
}

/** A stored answer. */
export interface Answered {
  readonly row: DelegationRow
  readonly messageId: string
  /** Whether exactly this was said before. */
  readonly isRepeat: boolean
}

interface AnsweringDeps extends LedgerDeps {
  readonly ledger: Ledger
  readonly digest: Digest
}

/** Answers of peers to their tasks. */
export function createAnswering(deps: AnsweringDeps) {
  const { store, ids, digest, messages, ledger, attachments } = deps

  function keyed(
    { id, organisation, toId }: DelegationRow,
    { idempotencyKey, ...said }: PeerWords,
  ): { sentKey: string; bodyDigest: string } | undefined {
    if (idempotencyKey === undefined) return undefined
    const { outcome = 'completed', message, parts, named, attachments: files } = said
    return {
      sentKey: digest(canonicalJson(['answer', organisation, toId, idempotencyKey])),
      bodyDigest: digest(canonicalJson({ id, outcome, message, parts, attachments: named ?? files })),
    }
  }

  /** The answer given under the same key before. Throws `IDEMPOTENCY_CONFLICT` if it differs. */
  async function repeatOf(row: DelegationRow, said: PeerWords): Promise<Answered | undefined> {
    const key = keyed(row, said)
    const [before] = key ? await store.find('activity', { where: { sentKey: key.sentKey }, limit: 1 }) : []
    if (!before) return undefined
    if (before.bodyDigest === key?.bodyDigest) return { row, messageId: before.messageId, isRepeat: true }
    throw new AppError('IDEMPOTENCY_CONFLICT', 'This key was used for another answer. Use a new key for a new answer.')
  }

  /** A peer that did not get our response sends its answer again. */
  async function already(now: DelegationRow, said: PeerWords, result: DelegationResult): Promise<Answered | undefined> {
    const repeat = await repeatOf(now, said)
    if (repeat || !isSame(now, said.outcome ?? 'completed', result)) return repeat
    return endOf(now)
  }

  /** The end of a closed task, if these words ended it. */
  function endedWith(row: DelegationRow, { message, attachments: files = [], parts: own = [] }: PeerWords) {
    const isMore = files.length > 0 || own.length > 0
    return row.state === 'completed' && row.result?.text === message && !isMore ? endOf(row) : undefined
  }

  /** Results are always delivered, even to a full inbox; progress counts like any other message. */
  async function refuseFull({ organisation, fromId, fromName }: DelegationRow): Promise<void> {
    if (!(await messages.inbox.isFull({ organisation, id: fromId }))) return
    const message = `The inbox of "${fromName}" is full (${MOST_WAITING_MESSAGES} messages). Continue with the task; its result is delivered in any case.`
    throw new AppError('LIMIT_EXCEEDED', message, { details: { limit: MOST_WAITING_MESSAGES } })
  }

  /** Records progress or the result. Throws `DELEGATION_ENDED`. */
  async function reply(row: DelegationRow, peer: WorkspaceRow, said: PeerWords, answered?: string): Promise<Answered> {
    const { outcome = 'completed', message = '', parts: own = [] } = said
    const files = await filesOf(attachments, peer, said.attachments ?? [])
    const result = { text: message, parts: own, attachments: files.facts }
    refuseEmpty(result)
    refuseLarge(result, outcome)
    let repeat: Answered | undefined
    let messageId: string | undefined

    async function parts(now: DelegationRow, at: number): Promise<StepParts> {
      const step = nextStep(now.state, EVENT[outcome])
      const state = 'to' in step ? step.to : now.state
      const isEnd = outcome !== 'in_progress'
      if (!isEnd) await refuseFull(now)
      const answers = answered?.replace(/_in$/, '')
      const words = { next: ids.next, at, result, state, isEnd, answers, key: keyed(now, said) }
      const draft = replyDraft(now, await ledger.sides(now), words)
      messageId = draft.messageId
      const set = isEnd ? endSet(result, state, draft) : { progress: shortened(result), progressAt: at }
      const handled = new Set([now.activityId, ...(answered === undefined ? [] : [answered])])
      return {
        set: { ...set, startedAt: now.startedAt ?? at },
        drafts: [draft],
        writes: [
          ...[...handled].flatMap(id => messages.inbox.popWrites(peer, id)),
          ...(await files.writesFor([draft])),
        ],
      }
    }
    const isDone = async (now: DelegationRow) => (repeat = await already(now, said, result)) !== undefined
    const done = await ledger.step(row, EVENT[outcome], { parts, isDone })
    if (repeat) return repeat
    if (messageId === undefined) throw notDelivered(row.id)
    return { row: done, messageId, isRepeat: false }
  }

  /** Records progress for readers of the task, without a message. */
  function note(row: DelegationRow, words: string | undefined): Promise<DelegationRow> {
    const isDone = (now: DelegationRow) =>
      now.state === 'in_progress' && (words === undefined || shortenedText(words) === now.progress)
    const parts = async (now: DelegationRow, at: number): Promise<StepParts> => {
      const said = words === undefined ? {} : { progress: shortenedText(words), progressAt: at }
      return { set: { ...said, startedAt: now.startedAt ?? at } }
    }
    return ledger.step(row, 'progress', { parts, isDone })
  }

  return { reply, note, repeatOf, endedWith }
}

function endOf(row: DelegationRow): Answered {
  return { row, messageId: row.noticeId?.replace(/_in$/, '') ?? '', isRepeat: true }
}

const EVENT = { completed: 'complete', failed: 'fail', in_progress: 'progress' } as const

function isSame(
  { state, result: before }: DelegationRow,
  outcome: DelegationOutcome,
  result: DelegationResult,
): boolean {
  return state === outcome && before !== null && canonicalJson(before) === canonicalJson(result)
}

function endSet(result: DelegationResult, state: DelegationRow['state'], draft: MessageDraft): Partial<DelegationRow> {
  const error = state === 'failed' ? shortened(result) : null
  return { result, error, noticeId: draft.received?.id ?? null }
}

/** Excerpt of words that are stored elsewhere. */
const SHORT = 2_000
/** Of a long text its end is shown too: it may end with a question that the task waits for. */
const SHOWN_END = 200

function shortened(result: DelegationResult): string {
  return shortenedText(resultText(result))
}

function shortenedText(text: string): string {
  if (text.length <= SHORT) return text
  return `${truncated(text, SHORT - SHOWN_END)}…${text.slice(characterStart(text, text.length - SHOWN_END))}`
}

function refuseEmpty({ text, parts, attachments }: DelegationResult): void {
  if (!isBlank(text) || parts.length > 0 || attachments.length > 0) return
  throw new AppError('INPUT_INVALID', 'The answer is empty. Say what came of the task.')
}

/** Only results are stored in pages. Progress is in the message alone and must fit into it. */
function refuseLarge({ text, parts }: DelegationResult, outcome: DelegationOutcome): void {
  const limit = outcome === 'in_progress' ? MESSAGE_BYTES : DELEGATION_RESULT_BYTES
  const size = bytesOf(text) + (parts.length > 0 ? bytesOf(JSON.stringify(parts)) : 0)
  if (size <= limit) return
  const what = outcome === 'in_progress' ? 'A progress message' : 'A result'
  const message = `${what} has at most ${limit} bytes; this has ${size}. Attach what is longer.`
  throw new AppError('LIMIT_EXCEEDED', message, { details: { limit } })
}
