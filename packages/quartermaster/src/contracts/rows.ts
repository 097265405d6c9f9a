import type { z } from 'zod'
import { AttachmentRow, AttachmentUseRow, BlobRow, ChunkRow } from './attachment-rows.ts'
import { ApprovalRow, GrantRow } from './consent-rows.ts'
import { DelegationRow } from './delegation-rows.ts'
import { ExternalPeerRow, OutgoingTaskRow } from './external-peer-rows.ts'
import { MemoryRow } from './memory-rows.ts'
import { ActivityRow, InboxRow } from './message-rows.ts'
import { LeaseRow, SeatRow } from './node-rows.ts'
import { AuditRow, OperationRow, ResultRow } from './operation-rows.ts'
import { JoinCodeRow, NodeRow, OrganisationRow, PersonRow, TokenRow, WorkspaceRow } from './organisation-rows.ts'
import { PinRow, SecretRow, UpstreamRow } from './upstream-rows.ts'

export * from './attachment-rows.ts'
export * from './consent-rows.ts'
export * from './delegation-rows.ts'
export * from './external-peer-rows.ts'
export * from './memory-rows.ts'
export * from './message-rows.ts'
export * from './node-rows.ts'
export * from './operation-rows.ts'
export * from './organisation-rows.ts'
export { Bytes } from './row-parts.ts'
export * from './upstream-rows.ts'

/** Every table of the store. */
export const ROWS = {
  tokens: TokenRow,
  operations: OperationRow,
  results: ResultRow,
  audit: AuditRow,
  approvals: ApprovalRow,
  grants: GrantRow,
  secrets: SecretRow,
  upstreams: UpstreamRow,
  pins: PinRow,
  nodes: NodeRow,
  organisations: OrganisationRow,
  workspaces: WorkspaceRow,
  persons: PersonRow,
  joincodes: JoinCodeRow,
  activity: ActivityRow,
  inbox: InboxRow,
  attachments: AttachmentRow,
  blobs: BlobRow,
  chunks: ChunkRow,
  attachmentuses: AttachmentUseRow,
  memories: MemoryRow,
  delegations: DelegationRow,
  seats: SeatRow,
  leases: LeaseRow,
  externalpeers: ExternalPeerRow,
  outgoingtasks: OutgoingTaskRow,
} as const

export type Table = keyof typeof ROWS
/** A row as it is read. */
export type Row<T extends Table> = z.infer<(typeof ROWS)[T]>
/** A row as it is written: what has a default may be left out. */
export type NewRow<T extends Table> = z.input<(typeof ROWS)[T]>
