import type { Steps } from './turns.ts'

/** `\u001f`: what JSON writes for a character that cannot stand there as it is. */
const MOST_PER_CHARACTER = 6
/** A number, `false`, `null`. */
const MOST_PER_LEAF = 25
/** The quotes of a key, its colon and its comma. */
const SIGNS_PER_KEY = 4
/** As much as is written in one go, counted at its most: that takes a millisecond or two. */
const PIECE = 256 * 1024
/** The characters of a text that are as much. */
const SLICE = Math.floor(PIECE / MOST_PER_CHARACTER)
/** As many values are looked at between two steps. */
const LOOKS = 16_384
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

type Container = Record<string | number, unknown>

/** Whether what is in it can be written one by one. */
function isContainer(value: unknown): value is Container {
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
      if (holder.bytes + bytes > PIECE) yield* catchUp()
      const item = most > PIECE ? holder.value[keyAt(holder)] : undefined
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
  readonly value: Container
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

function levelOf(value: Container): Level {
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

function picked(value: Container, keys: readonly string[]): Container {
  // Without a prototype, so that `__proto__` is a key like any other.
  const some: Container = Object.create(null)
  for (const key of keys) some[key] = value[key]
  return some
}
