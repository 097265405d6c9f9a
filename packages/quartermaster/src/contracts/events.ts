import type { DependencyState } from './dependency.ts'
import type { Problem } from './problem.ts'

/** Everything that is announced inside the process: noun, then verb. */
export interface Events {
  'generation.swapped': {
    generation: number
    added: readonly string[]
    changed: readonly string[]
    removed: readonly string[]
  }
  /** What is wrong now and was not before. */
  'definitions.rejected': { problems: readonly Problem[] }
  'dependency.changed': { name: string; from: DependencyState; to: DependencyState; reason: string }
  'tools.disabled': { tools: readonly string[]; dependency: string; reason: string }
  'tools.restored': { tools: readonly string[]; dependency: string }
  'agents.reloaded': { names: readonly string[] }
  'call.settled': AuditEntry
}

/** One line of the audit: who did what, and how it ended. Arguments only as a digest. */
export interface AuditEntry {
  at: number
  operationId: string
  caller: { kind: 'agent' | 'person'; name: string; workspace: string }
  tool: string
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: string
  decision: 'allowed' | 'refused'
  outcome: 'succeeded' | 'failed' | 'unknown' | 'notRun'
  /** The error code, when it ended in one. */
  code?: string
  /** Consent operations that were needed, and who allowed them. */
  consent?: { operations: readonly string[]; by: 'file' | 'owner' }
  mutates: boolean
  durationMs: number
}
