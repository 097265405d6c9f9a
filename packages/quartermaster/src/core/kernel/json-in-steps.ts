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
import type { Steps } from './turns.ts'

/** As much of a text as is parsed in one go: that takes a fraction of a millisecond. */
const PIECE = 64 * 1024
/** As many characters are looked at between two steps. */
const LOOKS = 16_384

interface StepLimits extends JsonLimits {
  /** How many members one object may have: nobody can ask it for its keys in steps. */
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
