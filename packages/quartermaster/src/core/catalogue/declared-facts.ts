import type { AsTask, DeclarationFacts, RetryPolicy } from '../../contracts/index.ts'
import type { DeclaredPlace } from './declared-place.ts'
import type { OpFacts } from './op.ts'

/** From what does nothing by itself to what does most. */
const RETRIES: readonly RetryPolicy[] = ['manual', 'verifyFirst', 'replay']

/**
 * The safety facts of a declared tool. What the op says of itself is true of whatever is made of it: a declaration may be
 * more careful, and never less. What the op leaves open, the declaration says.
 */
export function declaredFacts(facts: DeclarationFacts, op: OpFacts, at: DeclaredPlace): OpFacts {
  const timeoutMs = facts.timeoutSeconds === undefined ? undefined : Math.round(facts.timeoutSeconds * 1000)
  const declared = { ...facts, timeoutMs }
  checkFlags(facts, op, at)
  checkRetry(facts.retry, op.retry, at)
  checkTask(facts.asTask, op.asTask, at)
  checkMost('timeoutSeconds', facts.timeoutSeconds, op.timeoutMs === undefined ? undefined : op.timeoutMs / 1000, at)
  checkMost('maxResultBytes', facts.maxResultBytes, op.maxResultBytes, at)
  const consent = facts.consent.map(one => (typeof one === 'string' ? one : one.name))
  return {
    ...withoutGaps(op),
    ...withoutGaps({
      mutates: declared.mutates,
      idempotent: declared.idempotent,
      retry: declared.retry,
      timeoutMs: declared.timeoutMs,
      maxResultBytes: declared.maxResultBytes,
      asTask: declared.asTask,
    }),
    requires: [...new Set([...(op.requires ?? []), ...facts.requires])],
    consent: [...new Set([...(op.consent ?? []), ...consent])],
  }
}

function checkFlags(facts: DeclarationFacts, op: OpFacts, at: DeclaredPlace): void {
  if (op.mutates === true && facts.mutates === false) at.add('mutates', 'cannot be false: the op changes things')
  if (op.idempotent === false && facts.idempotent === true)
    at.add('idempotent', 'cannot be true: with the op, doing it twice is not the same as once')
}

function checkRetry(declared: RetryPolicy | undefined, op: RetryPolicy | undefined, at: DeclaredPlace): void {
  if (declared === undefined || op === undefined || RETRIES.indexOf(declared) <= RETRIES.indexOf(op)) return
  const careful = RETRIES.slice(0, RETRIES.indexOf(op) + 1).map(one => `"${one}"`)
  at.add('retry', `is "${declared}", and the op allows ${careful.join(' or ')}`)
}

function checkTask(declared: AsTask | undefined, op: AsTask | undefined, at: DeclaredPlace): void {
  if (declared === undefined || op === undefined || op === 'whenPossible' || declared === op) return
  at.add('asTask', `is "${declared}", and the op is "${op}"`)
}

function checkMost(field: string, declared: number | undefined, op: number | undefined, at: DeclaredPlace): void {
  if (declared !== undefined && op !== undefined && declared > op) at.add(field, `is at most ${op}, as the op has it`)
}

function withoutGaps<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never
}
