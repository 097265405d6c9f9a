import { isDeepStrictEqual } from 'node:util'
import type { Path } from './fault.ts'

/** One step from one value to another. Steps are taken in order, each on what the one before left. */
export type JsonChange =
  | { readonly kind: 'set'; readonly path: Path; readonly value: unknown }
  | { readonly kind: 'insert'; readonly path: Path; readonly index: number; readonly value: unknown }
  | { readonly kind: 'remove'; readonly path: Path }

interface Versions {
  /** What the text holds. */
  readonly written: unknown
  /** The same with defaults filled in, as the editor saw it. */
  readonly before: unknown
  readonly after: unknown
}

/** The smallest steps that make the written value say what `after` says. A default that nobody changed is not written down. */
export function changesBetween(versions: Versions, path: Path = []): JsonChange[] {
  const { written, before, after } = versions
  if (isDeepStrictEqual(before, after) || isDeepStrictEqual(written, after)) return []
  if (isRecord(written) && isRecord(after)) return objectChanges(written, isRecord(before) ? before : {}, after, path)
  if (Array.isArray(written) && Array.isArray(after)) return listChanges(written, after, path)
  return [{ kind: 'set', path, value: after }]
}

type JsonRecord = Readonly<Record<string, unknown>>

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectChanges(written: JsonRecord, before: JsonRecord, after: JsonRecord, path: Path): JsonChange[] {
  const gone = Object.keys(written).filter(key => !Object.hasOwn(after, key))
  const removals = gone.map((key): JsonChange => ({ kind: 'remove', path: [...path, key] }))
  const kept = Object.keys(after).flatMap(key =>
    changesBetween(versionsOf(key, written, before, after), [...path, key]),
  )
  return [...removals, ...kept]
}

function versionsOf(key: string, written: JsonRecord, before: JsonRecord, after: JsonRecord): Versions {
  const own = (record: JsonRecord) => (Object.hasOwn(record, key) ? record[key] : undefined)
  return { written: own(written), before: own(before), after: own(after) }
}

function listChanges(written: readonly unknown[], after: readonly unknown[], path: Path): JsonChange[] {
  const shorter = Math.min(written.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(written[start], after[start])) start++
  let tail = 0
  while (tail < shorter - start && isDeepStrictEqual(written.at(-1 - tail), after.at(-1 - tail))) tail++
  const old = written.slice(start, written.length - tail)
  const fresh = after.slice(start, after.length - tail)
  const pairs = Math.min(old.length, fresh.length)
  return [
    ...old
      .slice(0, pairs)
      .flatMap((item, i) => changesBetween({ written: item, before: item, after: fresh[i] }, [...path, start + i])),
    // From the end, so that the earlier indices still hold.
    ...old.slice(pairs).map((_, i): JsonChange => ({ kind: 'remove', path: [...path, start + old.length - 1 - i] })),
    ...fresh.slice(pairs).map((value, i): JsonChange => ({ kind: 'insert', path, index: start + pairs + i, value })),
  ]
}
