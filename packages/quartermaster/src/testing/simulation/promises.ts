import { allowedFirst } from './consent-promises.ts'
import { countOf, isOver, type Outcome, of } from './history.ts'
import { movesHold } from './move-promises.ts'
import { toldOnce } from './notification-promises.ts'

/** What must hold whatever happened; the sentences say what did not. */
export function violations(outcome: Outcome): string[] {
  return [
    ...doneOnce(outcome),
    ...endsHold(outcome),
    ...allowedFirst(outcome),
    ...allEnded(outcome),
    ...movesHold(outcome),
    ...toldOnce(outcome),
    ...keysHold(outcome),
    ...audited(outcome),
  ]
}

/** Tools whose effect may happen again without harm. */
const REPEATABLE = new Set(['set', 'guarded_set', 'send'])
/** Tools of which can be seen what they did. */
const LOOKABLE = new Set(['mark'])

/**
 * What must not happen twice has happened once at most, for one operation; once more where a person has said so. What can be
 * verified is not done again once it is there, whatever the request.
 */
function doneOnce({ history }: Outcome): string[] {
  const wanted = countOf(of(history, 'wanted').flatMap(one => (one.what === 'retry' ? one.operation : [])))
  const late = lateRuns({ history })
  const done = of(history, 'effect').filter(({ tool, run }) => !REPEATABLE.has(tool) && !late.has(run))
  const lookable = new Set(done.flatMap(({ tool, operation }) => (LOOKABLE.has(tool) ? operation : [])))
  return [...countOf(done.map(({ operation }) => operation))]
    .filter(([id, count]) => count > 1 + (lookable.has(id) ? 0 : (wanted.get(id) ?? 0)))
    .map(([id, count]) => `${id} was done ${count} times.`)
}

/** A process that slept goes on with what it was doing, and no other process knows that its lease has expired. */
function lateRuns({ history }: Pick<Outcome, 'history'>): ReadonlySet<number> {
  const leases = new Map<string, number>()
  const runs = new Map<number, number>()
  const late = new Set<number>()
  for (const one of history) {
    if (one.kind === 'moved' && one.from === 'leased') leases.set(one.operation, (leases.get(one.operation) ?? 0) + 1)
    if (one.kind === 'ran') runs.set(one.run, leases.get(one.operation) ?? 0)
    if (one.kind === 'effect' && LOOKABLE.has(one.tool) && runs.get(one.run) !== (leases.get(one.operation) ?? 0))
      late.add(one.run)
  }
  return late
}

/** Ends that say that it was not done. */
const DEFINITE_NOS: ReadonlySet<string> = new Set(['failed', 'denied', 'cancelled'])

/** What the record says is so. */
function endsHold({ history, rows }: Outcome): string[] {
  const done = new Set(of(history, 'effect').map(({ operation }) => operation))
  return rows.flatMap(({ id, state, outcome }) => {
    if (state === 'succeeded' && !done.has(id)) return [`${id} is succeeded and was never done.`]
    const isSaidNo = DEFINITE_NOS.has(state) || outcome !== 'unknown'
    if (state !== 'succeeded' && isSaidNo && done.has(id)) return [`${id} was done, and is ${state}.`]
    return []
  })
}

/** Nothing waits for ever, and no process does. */
function allEnded({ rows, unstopped }: Outcome): string[] {
  return [
    ...rows.flatMap(({ id, state }) => (isOver(state) ? [] : [`${id} never ended: it is ${state}.`])),
    ...unstopped.map(node => `The process "${node}" never came to its stop.`),
  ]
}

/** One key, one operation; one that was refused before it ran leaves its key to the next. */
function keysHold({ history, rows }: Outcome): string[] {
  const keys = new Map(of(history, 'called').map(({ call, key }) => [call, key]))
  const ran = new Set(of(history, 'ran').map(({ operation }) => operation))
  const refused = new Set(rows.flatMap(({ id, state }) => (state === 'failed' && !ran.has(id) ? id : [])))
  const operations = new Map<string, Set<string>>()
  for (const { call, operation } of of(history, 'answered')) {
    const key = keys.get(call)
    if (key === undefined || operation === '' || refused.has(operation)) continue
    operations.set(key, (operations.get(key) ?? new Set()).add(operation))
  }
  return [...operations]
    .filter(([, ids]) => ids.size > 1)
    .map(([key, ids]) => `The key ${key} has ${[...ids].join(' and ')}.`)
}

/** Each run has its line of the audit, and there is none of a run that no process could have begun. */
function audited({ history, rows, audit }: Outcome): string[] {
  const ran = countOf(of(history, 'ran').map(({ operation }) => operation))
  const given = countOf(of(history, 'moved').flatMap(one => (one.from === 'leased' ? one.operation : [])))
  const seen = countOf(of(history, 'wanted').flatMap(one => (one.what === 'verify' ? one.operation : [])))
  const lines = countOf(audit.flatMap(one => (one.outcome === 'notRun' ? [] : one.operationId)))
  return rows.flatMap(({ id }) => {
    const [runs, told] = [ran.get(id) ?? 0, lines.get(id) ?? 0]
    const most = (given.get(id) ?? 0) + (seen.get(id) ?? 0) + 1
    if (told >= runs && told <= most) return []
    return [`${id} ran ${runs} times, and the audit tells of ${told}.`]
  })
}
