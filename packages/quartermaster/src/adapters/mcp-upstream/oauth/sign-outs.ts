import type { LoginOwner } from '../../../core/upstreams/index.ts'
import { keyOf } from './demands.ts'

/**
 * How often logins were forgotten, as far as this process has heard. What is in the store tells it only until somebody signs in
 * again.
 */
export interface SignOuts {
  of(owner: LoginOwner): number
  add(owner: LoginOwner): void
  /** Those of all at an upstream, its agents included. */
  addAll(upstream: string): void
}

export function createSignOuts(): SignOuts {
  const counts = new Map<string, number>()
  const count = (key: string) => counts.get(key) ?? 0
  const add = (key: string) => void counts.set(key, count(key) + 1)
  return {
    of: owner => count(keyOf(owner)) + count(owner.upstream),
    add: owner => add(keyOf(owner)),
    // No key of an owner is a mere name.
    addAll: add,
  }
}
