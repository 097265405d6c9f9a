import type { ConsentOperation } from '../../contracts/index.ts'

/** The call whose resource is to be named. */
export interface ScopedCall {
  readonly tool: string
  /** As it was given; its tool's schema has taken it. */
  readonly input: unknown
  /** What the tool's handler gets as its configuration. */
  readonly config: unknown
}

/**
 * Names the resource that a call is about, where its arguments alone do not: the same text for the same thing, however it was
 * asked for, and another one for any other. Nothing when it cannot be told.
 */
export type ScopeFunction = (call: ScopedCall) => string | undefined | Promise<string | undefined>

/** A consent operation as its author writes it. */
export interface ConsentOperationDefinition extends Omit<ConsentOperation, 'scope'> {
  /** A template such as `{id}`, or code that names the resource. */
  readonly scope?: string | ScopeFunction | undefined
}

/** Whether it may not be allowed for longer than one call. */
export function isOnceOnly(operation: Pick<ConsentOperationDefinition, 'grantable'> | undefined): boolean {
  return operation?.grantable === 'once'
}

/** Those of these names that can be allowed for good, in an agent's file: persons are asked for the others each time. */
export function allowableForGood(
  names: readonly string[],
  known: ReadonlyMap<string, ConsentOperationDefinition>,
): string[] {
  return names.filter(name => !isOnceOnly(known.get(name)))
}
