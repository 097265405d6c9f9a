import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  type JsonLimits,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json.ts'
import type { Clock } from './ports.ts'

/** Interruptible work; the yielded values are ignored. */
export type Steps<T> = Generator<unknown, T>

/** How long one piece of work may hold the event loop. */
const TURN_MS = 5

/** Shares the event loop while long work runs. */
export interface Turns {
  take<T>(steps: Steps<T>): Promise<T>
}

export function createTurns(clock: Pick<Clock, 'now' | 'breathe'>): Turns {
  let ends = clock.now() + TURN_MS
  return {
    async take(steps) {
      for (;;) {
        const step = steps.next()
        if (step.done) return step.value
        if (clock.now() < ends) continue
        await clock.breathe()
        ends = clock.now() + TURN_MS
      }
    },
  }
}

/** Runs one piece of work and yields to the event loop in between. */
export function inTurns<T>(steps: Steps<T>, clock: Pick<Clock, 'now' | 'breathe'>): Promise<T> {
  return createTurns(clock).take(steps)
}

/** Runs the steps without a pause. */
export function runToEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Text parsed in one go, in a fraction of a millisecond. */
const PIECE = 64 * 1024
/** Characters scanned between two steps. */
const LOOKS = 16_384

/**
 * Parses a long JSON text and yields in between. Short parts are left to `JSON.parse`, and only long lists and objects are put
 * together here. Throws what `JSON.parse` throws, and a `RangeError` beyond the limits. The members of one object are limited
 * too, because keys cannot be listed in steps.
 */
export function* jsonInSteps(text: string, limits: JsonLimits & { readonly maxJsonMembers: number }): Steps<unknown> {
  const { maxJsonDepth, maxJsonValues, maxJsonMembers } = limits
  const open: Container[] = []
  let root: Built | undefined
  let values = 1
  let looked = 0
  for (let at = 0; at < text.length; at++) {
    if (at - looked >= LOOKS) {
      looked = at
      yield
    }
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      for (at = endOfString(text, at + 1); at < 0; at = endOfString(text, -at)) yield
      if (at >= text.length) throw new SyntaxError('A string does not end.')
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      values++
      open.push({ start: at, isList: code === OPEN_BRACKET, commas: [], built: [] })
      if (open.length > maxJsonDepth) throw new RangeError(`It nests deeper than ${maxJsonDepth} levels.`)
    } else if (code === COMMA) {
      values++
      const container = open.at(-1)
      container?.commas.push(at)
      if (container && !container.isList && container.commas.length >= maxJsonMembers)
        throw new RangeError(`It has an object with more than ${maxJsonMembers} members.`)
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      const container = open.pop()
      if (!container || container.isList !== (code === CLOSE_BRACKET))
        throw new SyntaxError('A bracket is not its own.')
      // It is parsed with the container around it.
      if (at - container.start < PIECE && open.length > 0) continue
      const built = { start: container.start, end: at + 1, value: yield* build(text, container, at) }
      const holder = open.at(-1)
      if (holder) holder.built.push(built)
      else if (root) throw new SyntaxError('There is more than one value.')
      else root = built
    }
    if (values > maxJsonValues) throw new RangeError(`It has more than ${maxJsonValues} values.`)
  }
  if (open.length > 0) throw new SyntaxError('A bracket is not closed.')
  if (!root) return JSON.parse(text)
  refuseWords(text.slice(0, root.start), text.slice(root.end))
  return root.value
}

/** An open list or object. */
interface Container {
  readonly start: number
  readonly isList: boolean
  /** Positions of its commas. */
  readonly commas: number[]
  /** Its long elements, in their order. */
  readonly built: Built[]
}

interface Built {
  readonly start: number
  readonly end: number
  readonly value: unknown
}

/** The end of a string; negative where to continue the search in the next step. */
function endOfString(text: string, from: number): number {
  const most = Math.min(text.length, from + LOOKS)
  let at = from
  for (; at < most; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return at < text.length ? -at : text.length
}

function* build(text: string, { start, isList, commas, built }: Container, end: number): Steps<unknown> {
  const list: unknown[] = []
  const record: Record<string, unknown> = {}
  let next = 0
  let from = start + 1
  const takeShort = (to: number) => {
    const piece = text.slice(from, to)
    // Nothing between two commas, or behind the last, is an error; only an empty container has no element.
    if (commas.length > 0 && piece.trim() === '') throw new SyntaxError('An element is missing.')
    if (isList) for (const item of JSON.parse(`[${piece}]`) as unknown[]) list.push(item)
    else for (const [key, value] of Object.entries(JSON.parse(`{${piece}}`))) put(record, key, value)
  }
  let begun = from
  for (let i = 0; i <= commas.length; i++) {
    const to = commas[i] ?? end
    const long = built[next]
    if (long && long.start < to) {
      if (begun > from) takeShort(begun - 1)
      const head = text.slice(begun, long.start)
      refuseWords(isList ? head : '', text.slice(long.end, to))
      if (isList) list.push(long.value)
      else put(record, keyIn(head), long.value)
      next++
      from = to + 1
    } else if (to - from >= PIECE || i === commas.length) {
      takeShort(to)
      from = to + 1
    }
    begun = to + 1
    if (from === begun) yield
  }
  return isList ? list : record
}

/** Like `JSON.parse`: `__proto__` is an ordinary key. */
function put(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') record[key] = value
  else Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true })
}

function keyIn(head: string): string {
  const [key, ...more] = Object.keys(JSON.parse(`{${head}null}`))
  if (key === undefined || more.length > 0) throw new SyntaxError('A value has no key.')
  return key
}

function refuseWords(...spaces: readonly string[]): void {
  if (spaces.some(one => /[^ \t\n\r]/.test(one))) throw new SyntaxError('There is something beside a value.')
}

/** `\u001f`: the longest spelling of a character in JSON. */
const MOST_PER_CHARACTER = 6
const MOST_PER_LEAF = 25
/** The quotes of a key, its colon and its comma. */
const SIGNS_PER_KEY = 4
/** Text written in one go, in a millisecond or two. */
const TEXT_PIECE = 256 * 1024
const SLICE = Math.floor(TEXT_PIECE / MOST_PER_CHARACTER)
/** `JSON.stringify` cannot write deeper values either, and a cycle would never end. */
const MOST_LEVELS = 10_000

/** An upper bound of the bytes of a value as JSON. Counting stops soon after the limit. */
export function mostJsonBytes(value: unknown, limit: number): number {
  if (!isContainer(value)) return mostLeafBytes(value)
  let bytes = 2
  if (Array.isArray(value)) {
    // By index: listing the keys of a long array would make as many strings.
    for (let i = 0; i < value.length && bytes <= limit; i++) bytes += 1 + mostJsonBytes(value[i], limit - bytes)
    return bytes
  }
  const keys = Object.keys(value)
  // Before anything in it is asked for its keys, which takes as long as counting them.
  bytes += keys.length * SIGNS_PER_KEY
  for (const key of keys) {
    if (bytes > limit) break
    bytes += key.length * MOST_PER_CHARACTER + mostJsonBytes(value[key], limit - bytes)
  }
  return bytes
}

function mostLeafBytes(value: unknown): number {
  if (typeof value === 'string') return value.length * MOST_PER_CHARACTER + 2
  return typeof value === 'object' && value !== null ? Number.POSITIVE_INFINITY : MOST_PER_LEAF
}

type OpenContainer = Record<string | number, unknown>

/** A list or object whose items can be written one by one. */
function isContainer(value: unknown): value is OpenContainer {
  return typeof value === 'object' && value !== null && !('toJSON' in value)
}

/**
 * Writes a long value as JSON and yields in between. Short parts are left to `JSON.stringify`: a list or object counts as short
 * until its content turns out to be long.
 */
export function* jsonTextInSteps(value: unknown): Steps<string> {
  const done: string[] = []
  const texts: string[] = []
  if (typeof value === 'string') {
    yield* writeText(value, texts)
    return texts.join('')
  }
  if (!isContainer(value)) return JSON.stringify(value)
  const levels = [levelOf(value)]
  let begun = 0
  let looked = 0

  /** Writes everything before the present item. */
  function* catchUp(): Steps<void> {
    for (; begun < levels.length; begun++) {
      const holder = levels[begun - 1]
      if (holder) writeHead(holder, texts)
      texts.push(levels[begun]?.keys ? '{' : '[')
      yield
    }
    writeWaiting(levels[begun - 1] as Level, texts)
    looked = LOOKS
  }

  /** The size of the present item, unless it is a container. */
  function look(level: Level): number | undefined {
    const item = level.value[keyAt(level)]
    if (!isContainer(item)) return mostLeafBytes(item)
    const inner = levelOf(item)
    looked += inner.keys?.length ?? 0
    if (levels.push(inner) > MOST_LEVELS) throw new RangeError('It nests too deep to be written.')
    return undefined
  }

  /** The size of a finished container, unless it is written already. */
  function leave(level: Level): number | undefined {
    levels.pop()
    if (begun <= levels.length) return level.bytes
    begun--
    writeWaiting(level, texts)
    texts.push(level.keys ? '}' : ']')
    looked = LOOKS
    const holder = levels.at(-1)
    if (holder) holder.from = ++holder.at
    return undefined
  }

  for (let level = levels[0]; level; level = levels.at(-1)) {
    const most = level.at === level.count ? leave(level) : look(level)
    const holder = levels.at(-1)
    if (most !== undefined && holder) {
      const bytes = most + mostKeyBytes(holder)
      if (holder.bytes + bytes > TEXT_PIECE) yield* catchUp()
      const item = most > TEXT_PIECE ? holder.value[keyAt(holder)] : undefined
      if (typeof item === 'string') {
        writeHead(holder, texts)
        yield* writeText(item, texts)
        holder.from = ++holder.at
      } else {
        holder.bytes += bytes
        holder.at++
      }
    }
    if (++looked < LOOKS) continue
    looked = 0
    // Joined here, so that few texts are left to join at the end.
    done.push(texts.splice(0).join(''))
    yield
  }
  const text = done.join('') + texts.join('')
  return text === '' ? JSON.stringify(value) : text
}

/** A list or an object on the path to the present item. */
interface Level {
  readonly value: OpenContainer
  readonly keys: readonly string[] | undefined
  readonly count: number
  at: number
  /** Items from here on wait to be written together. */
  from: number
  /** Upper bound of their size. */
  bytes: number
  hasText: boolean
}

function levelOf(value: OpenContainer): Level {
  const keys = Array.isArray(value) ? undefined : Object.keys(value)
  const count = keys ? keys.length : (value as unknown as unknown[]).length
  return { value, keys, count, at: 0, from: 0, bytes: 2, hasText: false }
}

function keyAt({ keys, at }: Level): string | number {
  return keys ? (keys[at] as string) : at
}

function mostKeyBytes({ keys, at }: Level): number {
  return keys ? (keys[at] as string).length * MOST_PER_CHARACTER + SIGNS_PER_KEY : 1
}

function writeWaiting(level: Level, texts: string[]): void {
  const { value, keys, from, at } = level
  level.from = at
  level.bytes = 2
  if (from === at) return
  const some = keys ? picked(value, keys.slice(from, at)) : (value as unknown as unknown[]).slice(from, at)
  const text = JSON.stringify(some).slice(1, -1)
  // An object with no writable value.
  if (text === '') return
  texts.push(level.hasText ? ',' : '', text)
  level.hasText = true
}

/** Writes what comes before the value of the present item. */
function writeHead(level: Level, texts: string[]): void {
  writeWaiting(level, texts)
  texts.push(level.hasText ? ',' : '', level.keys ? `${JSON.stringify(keyAt(level))}:` : '')
  level.hasText = true
}

function* writeText(text: string, texts: string[]): Steps<void> {
  texts.push('"')
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = endOfSlice(text, from)
    texts.push(JSON.stringify(text.slice(from, to)).slice(1, -1))
    yield
  }
  texts.push('"')
}

/** Not between the halves of a surrogate pair, because a lone half is escaped. */
function endOfSlice(text: string, from: number): number {
  const to = from + SLICE
  if (to >= text.length) return text.length
  const last = text.charCodeAt(to - 1)
  return last >= 0xd800 && last <= 0xdbff ? to - 1 : to
}

function picked(value: OpenContainer, keys: readonly string[]): OpenContainer {
  // Without a prototype, so that `__proto__` is an ordinary key.
  const some: OpenContainer = Object.create(null)
  for (const key of keys) some[key] = value[key]
  return some
}
