import type { UpstreamState, UpstreamStatus } from '../../contracts/index.ts'
import { neededLogin } from '../../core/kernel/index.ts'

/** What a person does so that a server is seen of which nobody knows yet what it has. */
export function unseenStep({
  name,
  state,
  reason,
  hasSpoken,
}: Pick<UpstreamStatus, 'name' | 'state' | 'reason' | 'hasSpoken'>): string {
  if (state === 'needsLogin') return neededLogin({ name, reason })
  if (COMES.has(state)) return 'See how it is: quartermaster upstreams'
  if (state === 'idle') return `Have it started: quartermaster upstreams restart ${name}, or: quartermaster up`
  if (hasSpoken) return `See what it said: quartermaster logs ${name}`
  return `Try it now: quartermaster upstreams restart ${name}`
}

/** The same of one that has not answered yet, and that nobody keeps running. */
export function begunStep(name: string): string {
  return `Wait for it: quartermaster upstreams restart ${name}, or: quartermaster up`
}

/** Nobody has to do anything, but to wait. */
const COMES: ReadonlySet<UpstreamState> = new Set(['starting', 'up', 'elsewhere'])
