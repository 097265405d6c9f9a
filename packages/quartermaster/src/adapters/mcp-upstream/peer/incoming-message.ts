import { setImmediate as nextTurn } from 'node:timers/promises'
import { inTurns, jsonExcess, jsonInSteps, type Steps } from '../../../core/kernel/index.ts'
import {
  type Id,
  isId,
  isRecord,
  isResponse,
  type LineEnds,
  type Message,
  messagesFrom,
  parseJson,
  type Response,
} from '../../mcp-wire/index.ts'
import { type ChannelEvents, refusedAnswer } from './channel.ts'

/**
 * Parsed at once up to this size, in a few milliseconds; a hundred thousand tools take a second, which would block
 * all other work.
 */
const AT_ONCE = 512 * 1024

/** `excess`: which limit the text exceeds, in a sentence. */
type TakeMessages = (messages: Message[], excess?: string) => void

/**
 * Hands over the messages of a server's text; none if it is no message. An answer over the limits becomes a refused
 * one. Long texts are parsed in turns. `asked`: the only request that the text can answer.
 */
export function takeMessages(text: string, take: TakeMessages, asked?: Id): undefined | Promise<void> {
  if (text.length > AT_ONCE) return takeInTurns(text, take, asked)
  const excess = excessIn(text)
  if (excess === undefined) take(messagesIn(parseJson(text)))
  else take(refusal({ head: text, tail: text }, excess, asked), excess)
  return undefined
}

function messagesIn(value: unknown): Message[] {
  const messages = fewMessages(messagesFrom(value))
  return messages.length > 0 ? messages : emptyAnswer(value)
}

/** What a handler that returned nothing looks like in JSON. The caller would wait for nothing. */
function emptyAnswer(value: unknown): Message[] {
  if (!isRecord(value) || !isId(value.id) || 'method' in value || value.jsonrpc !== '2.0') return []
  return [withOwnId(refusedAnswer(value.id, 'It has neither a result nor an error.'))]
}

async function takeInTurns(text: string, take: TakeMessages, asked: Id | undefined): Promise<void> {
  let value: unknown
  try {
    value = await inTurns(jsonInSteps(text, MESSAGE_LIMITS), EVENT_LOOP)
  } catch (error) {
    if (error instanceof RangeError)
      return take(refusal({ head: text, tail: text }, error.message, asked), error.message)
  }
  const messages = messagesIn(value)
  if (messages.length === 0) take(messages)
  else await inTurns(oneByOne(messages, take), EVENT_LOOP)
}

/** Handling the messages may take as long as parsing them. */
function* oneByOne(messages: readonly Message[], take: TakeMessages): Steps<void> {
  for (const message of messages) {
    take([message])
    yield
  }
}

/** Like `takeMessages`, for a text that is too long to be kept. */
export function takeTooLong(ends: Ends, maxBytes: number, take: TakeMessages): void {
  const excess = `It is longer than ${maxBytes} bytes.`
  take(refusal(ends, excess), excess)
}

type Ends = Pick<LineEnds, 'head' | 'tail'>

function refusal(ends: Ends, excess: string, asked = answeredId(ends)): Message[] {
  return asked === undefined ? [] : [refusedAnswer(asked, excess)]
}

/** The request that an unparsed text answers: servers write its id at the beginning or at the end. */
function answeredId({ head, tail }: Ends): Id | undefined {
  const [, first] = ID_FIRST.exec(head) ?? []
  const [, last] = (ANSWER_FIRST.test(head) && ID_LAST.exec(tail.slice(-LAST_CHARACTERS))) || []
  const id = first ?? last
  return id === undefined ? undefined : Number(id)
}

const ID_FIRST =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/
const ANSWER_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/
const ID_LAST = /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/
const LAST_CHARACTERS = 200

function fewMessages(messages: Message[]): Message[] {
  if (messages.length > MESSAGE_LIMITS.inBatch) return []
  return messages.some(hasTextId) ? messages.map(withOwnId) : messages
}

/** Our ids are numbers, and some servers return them as text. Other clients accept that. */
function withOwnId(message: Message): Message {
  return hasTextId(message) ? { ...message, id: Number(message.id) } : message
}

function hasTextId(message: Message): message is Response & { readonly id: string } {
  return isResponse(message) && typeof message.id === 'string' && /^\d{1,15}$/.test(message.id)
}

/** A message that cannot be handled must not end the channel. */
export function guardMessages(
  onMessage: ChannelEvents['onMessage'],
  log: (text: string) => void,
): ChannelEvents['onMessage'] {
  return (message, of) => {
    try {
      onMessage(message, of)
    } catch (error) {
      log(`A message from it could not be handled: ${String(error)}`)
    }
  }
}

interface YieldingQueueOptions<Item> {
  /** Returns a promise for work that outlasts a turn; later items wait for it. */
  handle(item: Item): undefined | Promise<void>
  /** More is queued than can be handled now: the source should pause. */
  onBusy(): void
  onIdle(): void
}

/** A work queue that yields to the event loop. */
interface YieldingQueue<Item> {
  add(items: readonly Item[]): void
  stop(): void
}

const TURN_MS = 5
const TURN_ITEMS = 256
/** Less is added to the next turn: a round of the event loop costs more than a short message. */
const LITTLE_MS = 1
const LITTLE_ITEMS = 16

export function createYieldingQueue<Item>({ handle, onBusy, onIdle }: YieldingQueueOptions<Item>): YieldingQueue<Item> {
  let items: Item[] = []
  let next = 0
  let turn: Turn = { workedMs: 0, handled: 0 }
  let isEnding = false
  let isResting = false
  let isWorking = false

  function begin(): void {
    if (isResting || isWorking) return
    isWorking = true
    try {
      work()
    } finally {
      isWorking = false
    }
    if (next < items.length) begin()
  }

  function work(): void {
    const begunAt = performance.now()
    const before = turn.workedMs
    while (next < items.length) {
      turn.workedMs = before + performance.now() - begunAt
      if (turn.handled >= TURN_ITEMS || turn.workedMs >= TURN_MS) return rest(turn.workedMs)
      turn.handled++
      const doing = handle(items[next++] as Item)
      if (doing) return awaitEnd(doing)
    }
    turn.workedMs = before + performance.now() - begunAt
    if (turn.handled >= LITTLE_ITEMS || turn.workedMs >= LITTLE_MS) endWithLoop()
    forget()
    onIdle()
  }

  /** A turn lasts until the event loop comes round: several batches may be added in one. */
  function endWithLoop(): void {
    if (isEnding) return
    isEnding = true
    setImmediate(() => {
      isEnding = false
      if (!isResting) turn = { workedMs: 0, handled: 0 }
    })
  }

  /** Pauses for as long as it worked, so that a flood takes at most half of the time. */
  function rest(ms: number): void {
    isResting = true
    onBusy()
    // A timer set in another timer's callback may fire in the same round, before other work had a turn.
    setTimeout(() => setImmediate(goOn), ms)
  }

  function awaitEnd(doing: Promise<void>): void {
    isResting = true
    onBusy()
    // The handler reports its own failures.
    void doing.then(goOn, goOn)
  }

  function goOn(): void {
    isResting = false
    turn = { workedMs: 0, handled: 0 }
    begin()
  }

  function forget(): void {
    items = []
    next = 0
  }

  return {
    add(more) {
      if (items.length === 0) items = [...more]
      else for (const item of more) items.push(item)
      begin()
    },
    stop: forget,
  }
}

interface Turn {
  workedMs: number
  handled: number
}

/** The real clock, also in tests. */
export const EVENT_LOOP = { now: () => performance.now(), breathe: () => nextTurn() }

/** Real messages stay far below; later steps process them recursively, and each value costs memory. */
export const MESSAGE_LIMITS = {
  bytes: 32 * 1024 * 1024,
  maxJsonDepth: 512,
  maxJsonValues: 4_000_000,
  /** No short text has as many: only long ones are counted. */
  maxJsonMembers: 100_000,
  /** A batch is handled in one go, so a larger one would block other work. */
  inBatch: 1_000,
  /**
   * An error's text is stored with the operation, and a model reads it. A stack trace has a few thousand characters.
   */
  errorMessageCharacters: 8 * 1024,
  errorCharacters: 64 * 1024,
  /** Messages that a server sends unasked are read in one go. */
  ownCharacters: 1024 * 1024,
  /** The same for a question to a model, which may contain a picture. */
  modelQuestionCharacters: 8 * 1024 * 1024,
  /** Each of them is checked several times before a person is asked. */
  ownValues: 50_000,
}

/** The limits of a server's request or notification with this method. */
export function ownLimits(method: string): SizeLimits {
  const { ownCharacters, modelQuestionCharacters, ownValues: values } = MESSAGE_LIMITS
  return { characters: method === 'sampling/createMessage' ? modelQuestionCharacters : ownCharacters, values }
}

/** Which limit of a message a text exceeds, in a sentence. */
export function excessIn(text: string): string | undefined {
  // A shorter text cannot nest that deep.
  if (text.length <= MESSAGE_LIMITS.maxJsonDepth) return undefined
  const excess = jsonExcess(text, MESSAGE_LIMITS)
  return excess && `It ${excess.what}.`
}

interface SizeLimits {
  readonly characters: number
  readonly values?: number
}

/** Which limit a value exceeds, in words: `it has more than 100 values`. Checking stops there. */
export function sizeExcess(
  value: unknown,
  { characters, values = Number.POSITIVE_INFINITY }: SizeLimits,
): string | undefined {
  const left = { characters, values }
  count(value, left)
  if (left.characters < 0) return `it has more than ${characters} characters`
  return left.values < 0 ? `it has more than ${values} values` : undefined
}

interface Left {
  characters: number
  values: number
}

function count(value: unknown, left: Left): void {
  left.values--
  if (typeof value === 'string') left.characters -= value.length
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) return countItems(value, left)
  for (const [key, item] of Object.entries(value)) {
    left.characters -= key.length
    if (isUsedUp(left)) return
    count(item, left)
  }
}

function countItems(list: readonly unknown[], left: Left): void {
  // By index: elements beyond the limit are not even read.
  for (let i = 0; i < list.length && !isUsedUp(left); i++) count(list[i], left)
}

function isUsedUp({ characters, values }: Left): boolean {
  return characters < 0 || values < 0
}
