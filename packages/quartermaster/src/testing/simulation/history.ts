import type { AuditRow, OperationRow } from '../../contracts/index.ts'

/** Everything that happened, in its order. */
export type Happening = { readonly at: number } & Happened

export type Happened =
  | {
      readonly kind: 'called'
      readonly call: number
      readonly node: string
      readonly tool: string
      readonly item: string
      readonly key: string | undefined
      readonly isTask: boolean
    }
  /** The caller's own operation is on record, and not one that an earlier call began under the same key. */
  | { readonly kind: 'recorded'; readonly call: number; readonly operation: string }
  /** The caller went away, and gets no answer. */
  | { readonly kind: 'left'; readonly call: number }
  | { readonly kind: 'answered'; readonly call: number; readonly operation: string; readonly said: string }
  | {
      readonly kind: 'ran'
      readonly run: number
      readonly node: string
      readonly operation: string
      readonly tool: string
      readonly item: string
    }
  /** Something was done outside. */
  | { readonly kind: 'effect'; readonly run: number; readonly operation: string; readonly tool: string }
  /** Its handler is over, well or not. */
  | { readonly kind: 'returned'; readonly run: number; readonly operation: string }
  | ({ readonly kind: 'granted' } & Said)
  | { readonly kind: 'revoked'; readonly grants: readonly string[] }
  /** A process has read what counts for an operation. */
  | { readonly kind: 'looked'; readonly node: string; readonly operation: string }
  /** The record of an operation went from one state to another; from none when it was begun. */
  | ({ readonly kind: 'moved' } & Move)
  | { readonly kind: 'renewed'; readonly operations: readonly string[]; readonly until: number }
  /** A person wants something done about it. */
  | { readonly kind: 'wanted'; readonly operation: string; readonly what: 'retry' | 'verify' }
  | { readonly kind: 'told'; readonly node: string; readonly operation: string; readonly state: string }
  /** It is on record that it was told. */
  | { readonly kind: 'marked'; readonly operations: readonly string[] }
  | { readonly kind: 'forgotten'; readonly operations: readonly string[] }
  /** A write about these failed, or nobody saw that it did not. */
  | { readonly kind: 'fault'; readonly operations: readonly string[] }
  | { readonly kind: 'slept'; readonly node: string }
  | { readonly kind: 'died'; readonly node: string }
  | { readonly kind: 'stopped'; readonly node: string }

/** A person's answer as it was to be kept. */
export interface Said {
  readonly grant: string
  readonly decision: string
  readonly lasting: string
  readonly askedFor: string
  readonly scope: string
  readonly expiresAt: number
}

export interface Move {
  readonly operation: string
  readonly node: string
  readonly from: string
  readonly to: string
  /** The identity by which the mover knew it. */
  readonly fence: number
  /** Of a lease: what it is known by from then on, and until when. */
  readonly lease?: { readonly fence: number; readonly until: number } | undefined
}

/** All that is known when everything has come to rest. */
export interface Outcome {
  readonly history: readonly Happening[]
  readonly rows: readonly OperationRow[]
  readonly audit: readonly AuditRow[]
  /** Processes that were told to stop and still run. */
  readonly unstopped: readonly string[]
}

const ENDS = new Set(['succeeded', 'failed', 'denied', 'exhausted', 'expired', 'cancelled', 'unknown'])

export const isOver = (state: string) => ENDS.has(state)

/** Those of one kind, in their order. */
export function of<K extends Happened['kind']>(history: readonly Happening[], kind: K) {
  return history.filter((one): one is Extract<Happening, { kind: K }> => one.kind === kind)
}

/** How often each is there. */
export function countOf(ids: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
