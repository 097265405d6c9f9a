import { canonicalJson } from '../../core/kernel/index.ts'
import type { Steps } from './steps.ts'

/** Two items that are equal: the second, and the first. */
export interface Repetition {
  readonly i: number
  readonly j: number
}

/** Finds two equal items in linear time: by hash first; only items with the same hash are serialised. */
export function findRepetition(items: readonly unknown[], steps: Steps): Repetition | undefined {
  if (items.length < 2) return undefined
  const plain = new Map<unknown, number>()
  const byHash = new Map<number, number>()
  const byText = new Map<string, number>()
  for (const [i, item] of items.entries()) {
    const isPlain = typeof item !== 'object' || item === null
    const j = isPlain ? plain.get(item) : findEqual(item, { i, items, byHash, byText, steps })
    if (j !== undefined) return { i, j }
    if (isPlain) plain.set(item, i)
  }
  return undefined
}

/** JSON with sorted keys, whose characters are counted. */
export function textOf(value: unknown, steps: Steps): string {
  const text = canonicalJson(value)
  steps.spend(2 * text.length)
  return text
}

interface Seen {
  readonly i: number
  readonly items: readonly unknown[]
  /** Index of the first item with each hash, or `WRITTEN` once its text is in `byText`. */
  readonly byHash: Map<number, number>
  readonly byText: Map<string, number>
  readonly steps: Steps
}

function findEqual(item: object, { i, items, byHash, byText, steps }: Seen): number | undefined {
  const hash = hashOf(item, steps)
  const first = byHash.get(hash)
  if (first === undefined) {
    byHash.set(hash, i)
    return undefined
  }
  if (first !== WRITTEN) {
    byText.set(textOf(items[first], steps), first)
    byHash.set(hash, WRITTEN)
  }
  const text = textOf(item, steps)
  const j = byText.get(text)
  if (j === undefined) byText.set(text, i)
  return j
}

const WRITTEN = -1

/** Equal for values whose JSON is equal, in whatever order their keys are. */
function hashOf(value: unknown, steps: Steps): number {
  steps.spend(2)
  if (typeof value === 'string') return hashOfText(value)
  if (typeof value === 'number')
    return Number.isFinite(value) ? Math.imul(value | 0, 0x9e3779b1) ^ ((value * 65_537) | 0) : 0
  if (typeof value === 'boolean') return value ? 1 : 2
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value))
    return value.reduce<number>((hash, item) => (Math.imul(hash, 31) + hashOf(item, steps)) | 0, 3)
  // A Date, for example: its JSON text decides.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return 4
  let hash = 5
  for (const key of Object.keys(value)) {
    const held = (value as Record<string, unknown>)[key]
    if (held !== undefined) hash = (hash + Math.imul(hashOfText(key) | 1, hashOf(held, steps) ^ 0x85ebca6b)) | 0
  }
  return hash
}

/** Hashes the length and the first and last letters; `findEqual` compares whole texts when hashes collide. */
function hashOfText(text: string): number {
  let hash = text.length
  for (let i = 0; i < text.length; i++) {
    if (i === MOST_LETTERS) i = Math.max(i, text.length - MOST_LETTERS)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return hash
}

const MOST_LETTERS = 32
