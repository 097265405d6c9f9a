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

/** Work that can be interrupted between its steps; what it yields on the way is of no interest. */
export type Steps<T> = Generator<unknown, T>

/** How long others may have to wait. */
const TURN_MS = 5

/** Turns of the event loop, for work that may take long. */
export interface Turns {
  /** Does the work, and lets everybody else have their turn meanwhile. */
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

/** One piece of work in turns of its own. */
export function inTurns<T>(steps: Steps<T>, clock: Pick<Clock, 'now' | 'breathe'>): Promise<T> {
  return createTurns(clock).take(steps)
}

/** Does it without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** As much of a text as is parsed in one go: that takes a fraction of a millisecond. */
const PIECE = 64 * 1024
/** As many characters are looked at between two steps. */
const LOOKS = 16_384

interface StepLimits extends JsonLimits {
  /** How many members one object may have: its keys cannot be listed in steps. */
  readonly maxJsonMembers: number
}

/**
 * Parses a long JSON text so that others can have their turn meanwhile: what is short in it is left to the engine, and only what
 * is longer is put together here. Throws what the engine throws for a text that is no JSON, and a `RangeError` beyond the limits.
 */
export function* jsonInSteps(text: string, limits: StepLimits): Steps<unknown> {
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
      // Whatever holds it is parsed with it.
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

/** A list or an object that was begun. */
interface Container {
  readonly start: number
  readonly isList: boolean
  /** Where its elements part. */
  readonly commas: number[]
  /** Those of its elements that are long, in their order. */
  readonly built: Built[]
}

interface Built {
  readonly start: number
  readonly end: number
  readonly value: unknown
}

/** Where the string that goes on here ends; below nothing where that was not found yet, and is looked for from there on. */
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
    // Nothing between two commas, or behind the last, is no element; only nothing at all is an empty container.
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

/** As the parser does it: `__proto__` is a key like any other. */
function put(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') record[key] = value
  else Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true })
}

/** Of `"key":`. */
function keyIn(head: string): string {
  const [key, ...more] = Object.keys(JSON.parse(`{${head}null}`))
  if (key === undefined || more.length > 0) throw new SyntaxError('A value has no key.')
  return key
}

function refuseWords(...spaces: readonly string[]): void {
  if (spaces.some(one => /[^ \t\n\r]/.test(one))) throw new SyntaxError('There is something beside a value.')
}

/** `\u001f`: what JSON writes for a character that cannot stand there as it is. */
const MOST_PER_CHARACTER = 6
/** A number, `false`, `null`. */
const MOST_PER_LEAF = 25
/** The quotes of a key, its colon and its comma. */
const SIGNS_PER_KEY = 4
/** As much as is written in one go, counted at its most: that takes a millisecond or two. */
const TEXT_PIECE = 256 * 1024
/** The characters of a text that are as much. */
const SLICE = Math.floor(TEXT_PIECE / MOST_PER_CHARACTER)
/** The engine cannot write what nests deeper either; without an end, what holds itself would have none. */
const MOST_LEVELS = 10_000

/** As many bytes as a value can take as JSON at most; counting ends soon after the limit. */
export function mostJsonBytes(value: unknown, limit: number): number {
  if (!isContainer(value)) return mostLeafBytes(value)
  let bytes = 2
  if (Array.isArray(value)) {
    // By number: the keys of a long list are as many texts.
    for (let i = 0; i < value.length && bytes <= limit; i++) bytes += 1 + mostJsonBytes(value[i], limit - bytes)
    return bytes
  }
  const keys = Object.keys(value)
  // Before anything in it is asked for its keys: that takes as long as to count them.
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

/** Whether what is in it can be written one by one. */
function isContainer(value: unknown): value is OpenContainer {
  return typeof value === 'object' && value !== null && !('toJSON' in value)
}

/**
 * Writes a long value as JSON so that others can have their turn meanwhile: what is short in it is left to the engine. Everything
 * is looked at once: a list or an object counts as short until what is in it turns out to be long, and only then it is begun.
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

  /** Writes all that comes before the present item. */
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

  /** As much as the present item takes, where it is known now. */
  function look(level: Level): number | undefined {
    const item = level.value[keyAt(level)]
    if (!isContainer(item)) return mostLeafBytes(item)
    const inner = levelOf(item)
    looked += inner.keys?.length ?? 0
    if (levels.push(inner) > MOST_LEVELS) throw new RangeError('It nests too deep to be written.')
    return undefined
  }

  /** As much as it takes in what holds it, where it is not written yet. */
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
    // Here, so that only few have to be put together in one go at the end.
    done.push(texts.splice(0).join(''))
    yield
  }
  const text = done.join('') + texts.join('')
  return text === '' ? JSON.stringify(value) : text
}

/** A list or an object on the way to the present item. */
interface Level {
  readonly value: OpenContainer
  /** Of an object. */
  readonly keys: readonly string[] | undefined
  readonly count: number
  /** The present item. */
  at: number
  /** Those from here on wait to be written together. */
  from: number
  /** As much as they take at most. */
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
  // Of an object whose values cannot be written nothing is.
  if (text === '') return
  texts.push(level.hasText ? ',' : '', text)
  level.hasText = true
}

/** What comes before the value of the present item. */
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

/** Not between the two halves of a character: half of one is written in another way. */
function endOfSlice(text: string, from: number): number {
  const to = from + SLICE
  if (to >= text.length) return text.length
  const last = text.charCodeAt(to - 1)
  return last >= 0xd800 && last <= 0xdbff ? to - 1 : to
}

function picked(value: OpenContainer, keys: readonly string[]): OpenContainer {
  // Without a prototype, so that `__proto__` is a key like any other.
  const some: OpenContainer = Object.create(null)
  for (const key of keys) some[key] = value[key]
  return some
}
