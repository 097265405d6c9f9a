import type { Steps } from './turns.ts'

/** `\u001f`: what JSON writes for a character that cannot stand there as it is. */
const MOST_PER_CHARACTER = 6
/** A number, `false`, `null`. */
const MOST_PER_LEAF = 25
/** As much as is written in one go, counted at its most: that takes a millisecond or two. */
const PIECE = 256 * 1024
/** To ask a large object for its keys takes as long as to write them. */
const MANY_KEYS = 10_000

/** As many bytes as a value can take as JSON at most; counting ends soon after the limit. */
export function mostJsonBytes(value: unknown, limit: number, known?: KnownKeys): number {
  if (typeof value === 'string') return value.length * MOST_PER_CHARACTER + 2
  if (typeof value !== 'object' || value === null) return MOST_PER_LEAF
  if ('toJSON' in value) return Number.POSITIVE_INFINITY
  let bytes = 2
  if (Array.isArray(value)) {
    // By number: the keys of a long list are as many texts.
    for (let i = 0; i < value.length && bytes <= limit; i++) bytes += 1 + mostJsonBytes(value[i], limit - bytes, known)
    return bytes
  }
  for (const key of keysOf(value, known)) {
    const one = (value as Record<string, unknown>)[key]
    bytes += key.length * MOST_PER_CHARACTER + 4 + mostJsonBytes(one, limit - bytes, known)
    if (bytes > limit) break
  }
  return bytes
}

/** Writes a long value as JSON so that others can have their turn meanwhile: what is short in it is left to the engine. */
export function* jsonTextInSteps(value: unknown, known: KnownKeys = new Map()): Steps<string> {
  const isLong = mostJsonBytes(value, PIECE, known) > PIECE && isContainer(value)
  return isLong ? yield* containerText(value, known) : JSON.stringify(value)
}

/** The keys of large objects that were asked already. */
export type KnownKeys = Map<object, readonly string[]>

type Container = Record<string | number, unknown>

function* containerText(value: Container, known: KnownKeys): Steps<string> {
  const keys = Array.isArray(value) ? undefined : keysOf(value, known)
  const count = Array.isArray(value) ? value.length : (keys?.length ?? 0)
  // Without a prototype, so that `__proto__` is a key like any other.
  const nothing = (): Container => (keys ? Object.create(null) : ([] as never))
  const texts: string[] = []
  let short = nothing()
  let room = PIECE
  const writeShort = () => {
    const text = JSON.stringify(short).slice(1, -1)
    if (text !== '') texts.push(text)
    short = nothing()
    room = PIECE
  }
  for (let i = 0, at = 0; i < count; i++) {
    const key = keys ? (keys[i] as string) : i
    const item = value[key]
    const most = mostJsonBytes(item, PIECE, known) + String(key).length * MOST_PER_CHARACTER + 4
    if (most > room) {
      writeShort()
      at = 0
      yield
    }
    if (most > PIECE && isContainer(item)) {
      const text = yield* containerText(item, known)
      texts.push(keys ? `${JSON.stringify(key)}:${text}` : text)
    } else {
      short[keys ? key : at++] = item
      room -= most
    }
  }
  writeShort()
  return keys ? `{${texts.join(',')}}` : `[${texts.join(',')}]`
}

/** Whether what is in it can be written one by one. */
function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null && !('toJSON' in value)
}

function keysOf(value: object, known: KnownKeys | undefined): readonly string[] {
  const asked = known?.get(value)
  if (asked) return asked
  const keys = Object.keys(value)
  if (keys.length > MANY_KEYS) known?.set(value, keys)
  return keys
}
