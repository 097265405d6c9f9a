import type { Asked } from './asked-addresses.ts'
import type { StreamEnd } from './stream-end.ts'

/** A stream of changes that the server did not acknowledge, and why. */
export interface Failed {
  readonly asked: Asked
  readonly how: StreamEnd
}

/** What is known of a server, by its streams so far. */
export interface StreamRecord {
  /** Whether it was seen to do with two streams at a time. */
  readonly hasRoom: boolean
  /** Whether it was once taken for an address's fault that it failed at the very addresses of which it was telling. */
  readonly hasDoubted: boolean
  /** How often in a row it failed, and not clearly at an address. */
  readonly failures: number
}

export interface Situation extends Failed {
  /** What is left of it without those that it may have failed for; nothing where nothing would be left. */
  readonly less: Asked | undefined
  /** Whether it was asked for in place of one that failed before. */
  readonly isLess: boolean
  /** Whether another stream tells meanwhile. */
  readonly isTelling: boolean
  readonly record: StreamRecord
}

/**
 * What a stream failed for, and so what comes next. `moment`: nothing that lasts; everything is asked for again after a pause.
 * `address`: one in it; the rest is asked for without it. `second`: there is no room beside the one that tells. `all`: the server
 * tells of nothing now. Where that is not clear, less is asked for, to compare.
 */
export type Verdict = 'moment' | 'address' | 'second' | 'all' | { readonly less: Asked }

/** So often in a row it may fail before that is taken for more than a moment. */
const MOST_FAILED = 1
/** So often it may break, about half a minute: there may be a proxy before a server that starts. */
const MOST_BROKEN = 5
/** So often where it did with two streams before, about a minute. Then there is no room for two any more. */
const MOST_FAILED_WITH_ROOM = 6
/** So often where it breaks, about ten minutes: a proxy that lets nobody through takes away nothing that is there. */
const MOST_BROKEN_WITH_ROOM = 24

export function verdictOn({ asked, how, less, isLess, isTelling, record }: Situation): Verdict {
  const { hasRoom, hasDoubted, failures } = record
  if (how.uri !== undefined && asked.uris.has(how.uri)) return 'address'
  // What it failed at before is not asked for twice.
  if (how.kind === 'broken' && !asked.isDoubted && failures <= MOST_BROKEN) return 'moment'
  if (how.kind === 'notNow' && !asked.isDoubted && !isLess && failures <= MOST_FAILED) return 'moment'
  // What it refuses though it has room for two can only be an address, and one that it took before may be gone by now.
  const isNew = asked.isDoubted || asked.tried.length === asked.uris.size
  if (how.kind === 'refused' && isTelling && hasRoom && isNew && asked.uris.size > 0) return 'address'
  // It breaks at less as well, and was seen to have room: before it is taken for want of that, as below, much time goes by.
  const isBreaking = how.kind === 'broken' && (isLess || !less)
  if (isBreaking && isTelling && hasRoom && failures <= MOST_BROKEN_WITH_ROOM) return 'moment'
  // Whoever tells of these right now, and fails at them on a second stream once more, does so for the second stream.
  const isOld = asked.tried.length === 0 && asked.uris.size > 0
  if (isTelling && hasDoubted && isOld) return 'second'
  if (less) return { less }
  if (!isTelling) return 'all'
  return !hasRoom || failures > MOST_FAILED_WITH_ROOM ? 'second' : 'moment'
}
