import { type DependencyState } from '../../contracts/index.ts'
import { type Dependency } from '../catalogue/index.ts'
import { type Cancel, type Clock } from '../kernel/index.ts'
import { type DependencyRecord, type HealthPolicy, type ProbeOutcome } from './records.ts'

/** The record after a probe. */
export function afterProbe(record: DependencyRecord, outcome: ProbeOutcome, policy: HealthPolicy): DependencyRecord {
  if (record.state === 'optedOut') return record
  const looked = { ...record, checkedAt: outcome.at, durationMs: outcome.durationMs, threw: outcome.kind === 'unknown' }
  if (outcome.kind === 'unknown') return afterSilence(looked, outcome.reason, outcome.at, policy)
  const { verdict, at } = outcome
  if (verdict.up) return afterSuccess(looked, verdict.reason ?? 'It answered.', at, policy)
  if (verdict.pending && isLeft(record, verdict)) return { ...looked, reason: verdict.reason }
  return verdict.final ? afterRefusal(looked, verdict.reason, at) : afterFailure(looked, verdict, at, policy)
}

/** What was not there before, or has only just been started, has its time to come and no more. */
function isLeft({ state }: DependencyRecord, { recovering }: { recovering?: boolean }): boolean {
  return state === 'up' || (state === 'unknown' && !recovering)
}

/**
 * The record after a real call failed because of this dependency. Only the first such failure says something new: calls that
 * were already under way when it failed would otherwise look like proof that it cannot recover.
 */
export function afterCallFailure(record: DependencyRecord, reason: string, now: number): DependencyRecord {
  if (record.state !== 'up') return record
  return fallen(record, 'recovering', reason, now)
}

/** The record when the time for recovering is over. */
export function afterRecoveringTime(record: DependencyRecord, now: number, policy: HealthPolicy): DependencyRecord {
  if (record.state !== 'recovering' || now - record.since < policy.recoveringMs) return record
  return move(record, 'down', record.reason, now)
}

function afterSuccess(record: DependencyRecord, reason: string, now: number, policy: HealthPolicy): DependencyRecord {
  const successes = record.successes + 1
  const goodSince = successes === 1 ? now : record.goodSince
  const counted = { ...record, successes, goodSince, failures: 0, unknowns: 0, falls: recentFalls(record, now, policy) }
  if (record.state === 'up') return { ...counted, reason }
  // While it is recovering its tools are listed, and only the calls that wait for it see it come back.
  if (record.state === 'recovering' || !isFlapping(counted)) return move(counted, 'up', reason, now)
  const needed = policy.successesAfterFlapping
  // Whose owner wants no more than one has nothing to prove.
  if (successes >= needed && (needed === 1 || now - goodSince >= STEADY_MS)) return move(counted, 'up', reason, now)
  const proof = `${Math.min(successes, needed)} of ${needed} good probes, over ${STEADY_MS / 1000} s at least.`
  const why = isFalling(counted) ? `${counted.falls.length} times of late` : 'right after it had come the last times'
  return { ...counted, reason: `It answers again, but it went away ${why}: ${proof}` }
}

/** When a dependency that answers again has done so for long enough, if it goes on. */
export function provedAt({ state, successes, goodSince }: DependencyRecord): number | undefined {
  return state === 'down' && successes > 0 ? goodSince + STEADY_MS : undefined
}

/** What comes and goes within this time is not there, however often it answers meanwhile. */
const STEADY_MS = 5_000

function afterFailure(
  record: DependencyRecord,
  { reason, recovering }: { reason: string; recovering?: boolean },
  now: number,
  policy: HealthPolicy,
): DependencyRecord {
  const failures = record.failures + 1
  const counted = { ...record, failures, unknowns: 0, successes: 0, falls: recentFalls(record, now, policy) }
  if (record.state === 'up') return fallen(counted, 'recovering', reason, now)
  // What has just been started is given the time that what has just fallen gets. Only at first sight: something that
  // is down and tries again every minute would come and go in every list.
  if (record.state === 'unknown' && recovering && policy.recoveringMs > 0)
    return move(counted, 'recovering', reason, now)
  const isPatient = record.state === 'recovering' && now - record.since < policy.recoveringMs
  return isPatient || record.state === 'down' ? { ...counted, reason } : move(counted, 'down', reason, now)
}

/** Only a person can bring it back: it has no time to come back automatically, and whether it can start is another question. */
function afterRefusal(record: DependencyRecord, reason: string, now: number): DependencyRecord {
  if (record.state === 'down') return { ...record, reason, failures: record.failures + 1, unknowns: 0, successes: 0 }
  const falls = record.falls.filter(at => record.state !== 'recovering' || at !== record.since)
  return { ...move(record, 'down', reason, now), falls, youngFalls: 0 }
}

/** Silence is no verdict, so the last one stands. Reading it as "down" would let one slow proxy disable every tool behind it. */
function afterSilence(record: DependencyRecord, reason: string, now: number, policy: HealthPolicy): DependencyRecord {
  const unknowns = record.unknowns + 1
  const counted = { ...record, unknowns, successes: 0 }
  // What is recovering has its time to answer, whether it fails or is silent meanwhile.
  const isPatient = record.state === 'recovering' && now - record.since < policy.recoveringMs
  if (unknowns >= policy.unknownsUntilDown && record.state !== 'down' && !isPatient) {
    const why = `${reason} (${unknowns} times in a row)`
    const recent = { ...counted, falls: recentFalls(record, now, policy) }
    return record.state === 'up' ? fallen(recent, 'down', why, now) : move(counted, 'down', why, now)
  }
  return record.state === 'up' || record.state === 'recovering' ? counted : { ...counted, reason }
}

/** A new state starts its own counters: how long it took to get there says nothing about how long it will last. */
function move(record: DependencyRecord, state: DependencyState, reason: string, now: number): DependencyRecord {
  return { ...record, state, reason, since: now, failures: 0, unknowns: 0, successes: 0 }
}

/** It is not up any more. */
function fallen(record: DependencyRecord, state: DependencyState, reason: string, now: number): DependencyRecord {
  const youngFalls = now - record.since < STEADY_MS ? record.youngFalls + 1 : 0
  return { ...move(record, state, reason, now), falls: [...record.falls, now], youngFalls }
}

function recentFalls(record: DependencyRecord, now: number, policy: HealthPolicy): readonly number[] {
  const isRecent = (at: number) => now - at <= policy.flapWindowMs
  return record.falls.every(isRecent) ? record.falls : record.falls.filter(isRecent)
}

/** What cannot stand is tried ever more seldom, and falls too seldom to be seen to. */
function isFlapping(record: DependencyRecord): boolean {
  return isFalling(record) || record.youngFalls >= 2
}

function isFalling({ falls }: DependencyRecord): boolean {
  return falls.length >= 2
}

/** Before another look at what had news during the last one: a probe that itself makes news must not spin. */
const PAUSE_MS = 20

/** Dependencies that tell when a look would find something new. However much they tell, each is looked at once at a time. */
interface News {
  /** Listens to these and to no others. */
  follow(dependencies: Iterable<Dependency>): void
}

interface Followed {
  stop: Cancel
  isLooking: boolean
  /** There was news during the look. */
  isStale: boolean
}

/** `look` never rejects. */
export function createNews({ clock, look }: { clock: Clock; look(dependency: Dependency): Promise<void> }): News {
  const followed = new Map<Dependency, Followed>()

  async function hear(dependency: Dependency, one: Followed): Promise<void> {
    if (followed.get(dependency) !== one) return
    one.isStale = one.isLooking
    if (one.isLooking) return
    one.isLooking = true
    await look(dependency)
    const again = () => {
      one.isLooking = false
      if (one.isStale) void hear(dependency, one)
    }
    if (one.isStale) clock.after(PAUSE_MS, again)
    else again()
  }

  function begin(dependency: Dependency): void {
    const one: Followed = { stop: () => {}, isLooking: false, isStale: false }
    followed.set(dependency, one)
    try {
      one.stop = dependency.onChange?.(() => void hear(dependency, one)) ?? one.stop
    } catch {
      // Its author's own code. Without its news it is looked at as all others are.
    }
  }

  function end(dependency: Dependency, { stop }: Followed): void {
    followed.delete(dependency)
    try {
      stop()
    } catch {
      // Its author's own code; whatever it still tells is not heard.
    }
  }

  return {
    follow(dependencies) {
      const wanted = new Set([...dependencies].filter(({ onChange }) => onChange !== undefined))
      for (const dependency of wanted) if (!followed.has(dependency)) begin(dependency)
      for (const [dependency, one] of followed) if (!wanted.has(dependency)) end(dependency, one)
    },
  }
}
