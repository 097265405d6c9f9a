import type { DelegationChange } from './delegation.ts'
import type { OperationState } from './operation.ts'
import type { Presence, WorkspaceStatus } from './organisation.ts'
import type { Caller, Problem } from './primitives.ts'
import type { DependencyState } from './tool.ts'

/** Events inside the process: noun, then verb. */
export interface Events {
  'generation.swapped': {
    generation: number
    added: readonly string[]
    changed: readonly string[]
    removed: readonly string[]
  }
  /** Problems that are new. */
  'definitions.rejected': { problems: readonly Problem[] }
  'dependency.changed': { name: string; from: DependencyState; to: DependencyState; reason: string }
  'tools.disabled': { tools: readonly string[]; dependency: string; reason: string }
  'tools.restored': { tools: readonly string[]; dependency: string }
  /** `isSame`: nothing has changed since the last time, or nothing was read before. */
  'agents.reloaded': { names: readonly string[]; isSame?: boolean }
  'call.settled': AuditEntry
  /** An operation was opened or changed its state; emitted once that is recorded. */
  'operation.changed': OperationChange
  /** A person gave up retrying permanently; the arguments are deleted. */
  'operation.dropped': { id: string; tool: string; caller: Caller; at: number }
  /** A person is asked for consent. */
  'approval.opened': { id: string; tool: string; organisation: string; agent: string }
  'approval.answered': {
    id: string
    tool: string
    organisation: string
    agent: string
    state: 'allowed' | 'denied'
    by: { readonly name: string; readonly via: 'owner' | 'person' | 'client' }
  }
  /** Grants were revoked: one, those of an agent or operation, or those given by a person. */
  'grants.revoked': {
    organisation: string
    id?: string | undefined
    agent?: string | undefined
    operation?: string | undefined
    grantedBy?: string | undefined
    by: string
    count: number
  }
  /** A workspace was created, changed, archived or restored. */
  'workspace.changed': { organisation: string; id: string; name: string; status: WorkspaceStatus }
  /** A delegation was created or changed its state; emitted by the process that did it. */
  'delegation.changed': DelegationChange
  /** A workspace came, went silent or left; emitted by the process that noticed. */
  'presence.changed': {
    readonly organisation: string
    readonly id: string
    readonly name: string
    readonly from: Presence
    readonly to: Presence
    readonly at: number
  }
}

/** A state change of an operation. */
export interface OperationChange {
  readonly id: string
  readonly tool: string
  readonly caller: Caller
  /** Absent for a new operation. */
  readonly from: OperationState | undefined
  readonly to: OperationState
  readonly at: number
  /** Of an end: whether the caller learns of it with the answer. */
  readonly isTold: boolean
}

/** An audit line: who did what, and how it ended. Arguments only as a digest. */
export interface AuditEntry {
  at: number
  operationId: string
  caller: Caller
  tool: string
  /** SHA-256 over the canonical JSON of the arguments. */
  digest: string
  decision: 'allowed' | 'refused'
  outcome: 'succeeded' | 'failed' | 'unknown' | 'notRun'
  /** The error code, if it ended in one. */
  code?: string
  /** Consent operations that were needed, and who allowed them. */
  consent?: { operations: readonly string[]; by: string; lasting?: 'once' | 'time' | 'always' | undefined }
  mutates: boolean
  durationMs: number
}
