import { type DependencyState } from '../../contracts/index.ts'
import { type DependencyRecord, type HealthPolicy, type ProbeOutcome } from './records.ts'

export function afterProbe(record: DependencyRecord, outcome: ProbeOutcome, policy: HealthPolicy): DependencyRecord {
  if (record.state === 'optedOut') return record
  const probed = { ...record, checkedAt: outcome.at, durationMs: outcome.durationMs, threw: outcome.kind === 'unknown' }
  if (outcome.kind === 'unknown') return afterUnknown(probed, outcome.reason, outcome.at, policy)
  const { verdict, at } = outcome
  if (verdict.up) return afterSuccess(probed, verdict.reason ?? 'It answered.', at, policy)
  if (verdict.pending && keepsVerdict(record, verdict)) return { ...probed, reason: verdict.reason }
  return verdict.final ? afterRefusal(probed, verdict.reason, at) : afterFailure(probed, verdict, at, policy)
}

/** Whether a pending verdict leaves the record alone: only of a dependency that is up, or unknown and not starting. */
function keepsVerdict({ state }: DependencyRecord, { recovering }: { recovering?: boolean }): boolean {
  return state === 'up' || (state === 'unknown' && !recovering)
}

/**
 * The record after a call failed because of this dependency. Only the first failure counts: those of calls already running would
 * look like proof that it cannot recover.
 */
export function afterCallFailure(record: DependencyRecord, reason: string, now: number): DependencyRecord {
  if (record.state !== 'up') return record
  return recordFall(record, 'recovering', reason, now)
}

/** The record when the time for recovery is over. */
export function afterRecoveringTime(record: DependencyRecord, now: number, policy: HealthPolicy): DependencyRecord {
  if (record.state !== 'recovering' || now - record.since < policy.recoveringMs) return record
  return move(record, 'down', record.reason, now)
}

function afterSuccess(record: DependencyRecord, reason: string, now: number, policy: HealthPolicy): DependencyRecord {
  const successes = record.successes + 1
  const goodSince = successes === 1 ? now : record.goodSince
  const counted = { ...record, successes, goodSince, failures: 0, unknowns: 0, falls: recentFalls(record, now, policy) }
  if (record.state === 'up') return { ...counted, reason }
  // While it recovers its tools are listed, and only waiting calls notice that it is up.
  if (record.state === 'recovering' || !isFlapping(counted)) return move(counted, 'up', reason, now)
  const needed = policy.successesAfterFlapping
  // A required count of one switches the proof off.
  if (successes >= needed && (needed === 1 || now - goodSince >= STEADY_MS)) return move(counted, 'up', reason, now)
  const proof = `${Math.min(successes, needed)} of ${needed} good probes, over ${STEADY_MS / 1000} s at least.`
  const why = isFalling(counted) ? `${counted.falls.length} times of late` : 'right after it had come the last times'
  return { ...counted, reason: `It answers again, but it went away ${why}: ${proof}` }
}

/** When a dependency that answers again will have done so for long enough. */
export function provedAt({ state, successes, goodSince }: DependencyRecord): number | undefined {
  return state === 'down' && successes > 0 ? goodSince + STEADY_MS : undefined
}

/** A dependency that comes and goes within this time counts as down. */
const STEADY_MS = 5_000

function afterFailure(
  record: DependencyRecord,
  { reason, recovering }: { reason: string; recovering?: boolean },
  now: number,
  policy: HealthPolicy,
): DependencyRecord {
  const failures = record.failures + 1
  const counted = { ...record, failures, unknowns: 0, successes: 0, falls: recentFalls(record, now, policy) }
  if (record.state === 'up') return recordFall(counted, 'recovering', reason, now)
  // A dependency that is starting gets the recovery time too, but only at first sight: one that is down and retries every minute
  // would come and go in every list.
  if (record.state === 'unknown' && recovering && policy.recoveringMs > 0)
    return move(counted, 'recovering', reason, now)
  const isPatient = record.state === 'recovering' && now - record.since < policy.recoveringMs
  return isPatient || record.state === 'down' ? { ...counted, reason } : move(counted, 'down', reason, now)
}

/** Only a person can bring it back, so it goes down without recovery time. This is not flapping. */
function afterRefusal(record: DependencyRecord, reason: string, now: number): DependencyRecord {
  if (record.state === 'down') return { ...record, reason, failures: record.failures + 1, unknowns: 0, successes: 0 }
  const falls = record.falls.filter(at => record.state !== 'recovering' || at !== record.since)
  return { ...move(record, 'down', reason, now), falls, youngFalls: 0 }
}

/** Without a verdict the last one stands. Reading silence as "down" would let one slow proxy disable every tool behind it. */
function afterUnknown(record: DependencyRecord, reason: string, now: number, policy: HealthPolicy): DependencyRecord {
  const unknowns = record.unknowns + 1
  const counted = { ...record, unknowns, successes: 0 }
  // A recovering dependency may take its time, failing or silent.
  const isPatient = record.state === 'recovering' && now - record.since < policy.recoveringMs
  if (unknowns >= policy.unknownsUntilDown && record.state !== 'down' && !isPatient) {
    const why = `${reason} (${unknowns} times in a row)`
    const recent = { ...counted, falls: recentFalls(record, now, policy) }
    return record.state === 'up' ? recordFall(recent, 'down', why, now) : move(counted, 'down', why, now)
  }
  return record.state === 'up' || record.state === 'recovering' ? counted : { ...counted, reason }
}

/** A new state starts with new counters: the time to get there does not tell how long it will last. */
function move(record: DependencyRecord, state: DependencyState, reason: string, now: number): DependencyRecord {
  return { ...record, state, reason, since: now, failures: 0, unknowns: 0, successes: 0 }
}

/** Records that it stopped being up. */
function recordFall(record: DependencyRecord, state: DependencyState, reason: string, now: number): DependencyRecord {
  const youngFalls = now - record.since < STEADY_MS ? record.youngFalls + 1 : 0
  return { ...move(record, state, reason, now), falls: [...record.falls, now], youngFalls }
}

function recentFalls(record: DependencyRecord, now: number, policy: HealthPolicy): readonly number[] {
  const isRecent = (at: number) => now - at <= policy.flapWindowMs
  return record.falls.every(isRecent) ? record.falls : record.falls.filter(isRecent)
}

/** Young falls count too: a dependency that cannot stay up is retried ever more rarely, and so falls too rarely for the window. */
function isFlapping(record: DependencyRecord): boolean {
  return isFalling(record) || record.youngFalls >= 2
}

function isFalling({ falls }: DependencyRecord): boolean {
  return falls.length >= 2
}
