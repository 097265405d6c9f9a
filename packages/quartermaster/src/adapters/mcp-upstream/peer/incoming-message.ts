import { setImmediate as nextTurn } from 'node:timers/promises'
import { inTurns, jsonInSteps, type Steps } from '../../../core/kernel/index.ts'
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
import { excessIn, MESSAGE_LIMITS } from './message-limits.ts'

/**
 * Parsing this much takes a few milliseconds; a hundred thousand tools take a second, which would block all other work.
 */
const AT_ONCE = 512 * 1024

/** Takes the messages of a text. `excess`: which limit it exceeds, in a sentence. */
type TakeMessages = (messages: Message[], excess?: string) => void

/**
 * Hands over the messages of a server's text: none if it is not a message. An answer over the limits becomes a refused
 * one. At once, unless the text is long; then other work is let in between. `asked`: the only request that it can
 * answer.
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

/** A handler that returned nothing appears like this in JSON. The caller would wait for nothing. */
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
    // What is no JSON is no message.
  }
  const messages = messagesIn(value)
  if (messages.length === 0) take(messages)
  else await inTurns(oneByOne(messages, take), EVENT_LOOP)
}

/** Handling the messages of one text may take as long as reading it. */
function* oneByOne(messages: readonly Message[], take: TakeMessages): Steps<void> {
  for (const message of messages) {
    take([message])
    yield
  }
}

/** The same for a text that is too long to be kept. */
export function takeTooLong(ends: Ends, maxBytes: number, take: TakeMessages): void {
  const excess = `It is longer than ${maxBytes} bytes.`
  take(refusal(ends, excess), excess)
}

type Ends = Pick<LineEnds, 'head' | 'tail'>

function refusal(ends: Ends, excess: string, asked = answeredId(ends)): Message[] {
  return asked === undefined ? [] : [refusedAnswer(asked, excess)]
}

/** Which request an unparsed text answers: servers write its id at the beginning or at the end. */
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

/** Hands messages over. One strange message must not end more than itself. */
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
  /** A promise for work that outlasts a turn; later items wait for it. */
  handle(item: Item): undefined | Promise<void>
  /** More is queued than can be done now: the source should pause. */
  onBusy(): void
  onIdle(): void
}

/** A work queue that yields to the event loop. */
interface YieldingQueue<Item> {
  add(items: readonly Item[]): void
  stop(): void
}

/** The time of one turn of the event loop. */
const TURN_MS = 5
const TURN_ITEMS = 256
/** So little is added to the next turn: a round of the event loop costs more than a short message. */
const LITTLE_MS = 1
const LITTLE_ITEMS = 16

export function createYieldingQueue<Item>({ handle, onBusy, onIdle }: YieldingQueueOptions<Item>): YieldingQueue<Item> {
  let items: Item[] = []
  let next = 0
  let turn: Turn = { workedMs: 0, handled: 0 }
  let isEnding = false
  let isResting = false
  let isWorking = false

  /** Items added by the current one are queued behind the rest. */
  function begin(): void {
    if (isResting || isWorking) return
    isWorking = true
    try {
      work()
    } finally {
      isWorking = false
    }
    // The listener may add more at once.
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

  /** A turn lasts until the event loop comes round: items may be added several times in one. */
  function endWithLoop(): void {
    if (isEnding) return
    isEnding = true
    setImmediate(() => {
      isEnding = false
      if (!isResting) turn = { workedMs: 0, handled: 0 }
    })
  }

  /** Pauses for as long as it worked, so that a flood takes half of the time at most. */
  function rest(ms: number): void {
    isResting = true
    onBusy()
    // A timer set in another timer's callback may fire in the same round, before other work had a turn.
    setTimeout(() => setImmediate(goOn), ms)
  }

  function awaitEnd(doing: Promise<void>): void {
    isResting = true
    onBusy()
    // The handler reports its own failures; here it is done.
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

/** What was done since the event loop last came round. */
interface Turn {
  workedMs: number
  handled: number
}

/** The real clock, also in tests: long work yields by it. */
export const EVENT_LOOP = { now: () => performance.now(), breathe: () => nextTurn() }
