import type { OperationRow } from '../../contracts/index.ts'

/** Everything that happened, in its order. */
export type Happening =
  | {
      readonly kind: 'called'
      readonly call: number
      readonly tool: string
      readonly item: string
      readonly key?: string | undefined
    }
  | { readonly kind: 'answered'; readonly call: number; readonly operation: string; readonly said: string }
  | { readonly kind: 'ran'; readonly operation: string; readonly tool: string; readonly item: string }
  /** Something was done outside. */
  | { readonly kind: 'effect'; readonly operation: string; readonly tool: string; readonly item: string }
  | { readonly kind: 'allowed'; readonly operation: string; readonly lasting: string }
  | { readonly kind: 'revoked' }
  /** What allowed it has run out before it was done. */
  | { readonly kind: 'askedAgain'; readonly operation: string }
  /** Its end was written. */
  | { readonly kind: 'ended'; readonly operation: string; readonly state: string }
  | { readonly kind: 'told'; readonly operation: string; readonly state: string }
  | { readonly kind: 'died'; readonly node: string }

export interface Outcome {
  readonly history: readonly Happening[]
  readonly rows: readonly OperationRow[]
}

const ENDS = new Set(['succeeded', 'failed', 'denied', 'exhausted', 'expired', 'cancelled', 'unknown'])
/** Tools whose effect may happen again without harm. */
const REPEATABLE = new Set(['set', 'guarded_set'])
const GUARDED = new Set(['guarded_add', 'guarded_set'])

/** What must hold whatever happened; the sentences say what did not. */
export function violations(outcome: Outcome): string[] {
  return [
    ...doneOnce(outcome),
    ...endsHold(outcome),
    ...allowedFirst(outcome),
    ...allEnded(outcome),
    ...endsOnce(outcome),
    ...keysHold(outcome),
  ]
}

const of = <K extends Happening['kind']>(history: readonly Happening[], kind: K) =>
  history.filter((one): one is Extract<Happening, { kind: K }> => one.kind === kind)

/** What must not happen twice has happened once at most, for one operation. */
function doneOnce({ history }: Outcome): string[] {
  const counts = new Map<string, number>()
  for (const { operation, tool } of of(history, 'effect')) {
    if (!REPEATABLE.has(tool)) counts.set(operation, (counts.get(operation) ?? 0) + 1)
  }
  return [...counts].filter(([, count]) => count > 1).map(([id, count]) => `${id} was done ${count} times.`)
}

/** What the record says is so. */
function endsHold({ history, rows }: Outcome): string[] {
  const done = new Set(of(history, 'effect').map(({ operation }) => operation))
  return rows.flatMap(({ id, state, outcome }) => {
    if (state === 'succeeded' && !done.has(id)) return [`${id} is succeeded and was never done.`]
    if (state !== 'succeeded' && outcome !== 'unknown' && done.has(id)) return [`${id} was done, and is ${state}.`]
    return []
  })
}

/** Nothing that needs consent runs without a yes for it that was not taken back before. */
function allowedFirst({ history }: Outcome): string[] {
  const once = new Set<string>()
  let lasting = new Set<string>()
  const wrong: string[] = []
  for (const one of history) {
    if (one.kind === 'allowed' && one.lasting === 'once') once.add(one.operation)
    if (one.kind === 'allowed' && one.lasting !== 'once') lasting.add(one.operation)
    if (one.kind === 'revoked') lasting = new Set()
    if (one.kind === 'ran' && GUARDED.has(one.tool) && !once.has(one.operation) && !covers(lasting, one.item))
      wrong.push(`${one.operation} ran for "${one.item}" and nobody had allowed it.`)
  }
  return wrong
}

/** A yes that lasts is noted by the item it is for. */
function covers(lasting: ReadonlySet<string>, item: string): boolean {
  return lasting.has(`item ${item}`)
}

/** Nothing waits for ever, and every end that nobody waited for is told. */
function allEnded({ history, rows }: Outcome): string[] {
  const told = new Set(of(history, 'told').map(({ operation }) => operation))
  const answered = new Set(of(history, 'answered').map(({ operation }) => operation))
  // A caller that died while it waited hears no answer, and nobody else notes which one it was.
  const mayHaveDied = of(history, 'died').length > 0
  return rows.flatMap(({ id, state, tellAt, announcedAt, error }) => {
    if (!ENDS.has(state)) return [`${id} never ended: it is ${state}.`]
    if (tellAt !== null) return [`The end of ${id} was never told.`]
    if (announcedAt === null) return [`Nobody knows of the end of ${id}.`]
    // Its caller was told that it could not be written down, and could not be told under which id it was after all.
    if (error?.code === 'STORE_UNAVAILABLE') return []
    return told.has(id) || answered.has(id) || mayHaveDied ? [] : [`The end of ${id} was marked as told and was not.`]
  })
}

/** What has ended stays as it ended: whoever was told would have been told something else. */
function endsOnce({ history }: Outcome): string[] {
  const ends = new Map<string, string[]>()
  for (const { operation, state } of of(history, 'ended')) ends.set(operation, [...(ends.get(operation) ?? []), state])
  return [...ends]
    .filter(([, states]) => states.length > 1)
    .map(([id, states]) => `${id} ended as ${states.join(' and ')}.`)
}

/** One key, one operation. */
function keysHold({ history }: Outcome): string[] {
  const keys = new Map<number, string>()
  for (const { call, key } of of(history, 'called')) if (key !== undefined) keys.set(call, key)
  const operations = new Map<string, Set<string>>()
  for (const { call, operation } of of(history, 'answered')) {
    const key = keys.get(call)
    if (key !== undefined && operation !== '') operations.set(key, (operations.get(key) ?? new Set()).add(operation))
  }
  return [...operations]
    .filter(([, ids]) => ids.size > 1)
    .map(([key, ids]) => `The key ${key} has ${[...ids].join(' and ')}.`)
}
