import type { DependencyState } from '../../contracts/index.ts'
import type { ProbeVerdict } from '../catalogue/index.ts'

/** What one dependency did so far. Immutable; every event makes the next. */
export interface DependencyRecord {
  readonly state: DependencyState
  readonly reason: string
  /** Since when it is in this state. */
  readonly since: number
  readonly checkedAt: number | undefined
  readonly durationMs: number | undefined
  /** Failing, silent and good probes in a row. */
  readonly failures: number
  readonly unknowns: number
  readonly successes: number
  /** When the first of the good ones was. */
  readonly goodSince: number
  /** When it recently stopped being up, to tell flapping from a single fall. */
  readonly falls: readonly number[]
  /** How often in a row it stopped being up right after it had come, however long ago that was. */
  readonly youngFalls: number
  /** The last probe threw or was silent; the next look may come sooner. */
  readonly threw: boolean
}

/** What a probe came to: a verdict, or nothing that could be told. */
export type ProbeOutcome =
  | { readonly kind: 'verdict'; readonly verdict: ProbeVerdict; readonly at: number; readonly durationMs: number }
  | { readonly kind: 'unknown'; readonly reason: string; readonly at: number; readonly durationMs: number }

/** The numbers by which a record moves on. */
export interface HealthPolicy {
  readonly recoveringMs: number
  readonly unknownsUntilDown: number
  readonly flapWindowMs: number
  readonly successesAfterFlapping: number
}

export function initialRecord(now: number): DependencyRecord {
  return {
    state: 'unknown',
    reason: 'It has not been looked at yet.',
    since: now,
    checkedAt: undefined,
    durationMs: undefined,
    failures: 0,
    unknowns: 0,
    successes: 0,
    goodSince: now,
    falls: [],
    youngFalls: 0,
    threw: false,
  }
}

export function optedOutRecord(now: number): DependencyRecord {
  return { ...initialRecord(now), state: 'optedOut', reason: OPTED_OUT }
}

export const OPTED_OUT = 'It is switched off in the configuration (enabled: false).'
