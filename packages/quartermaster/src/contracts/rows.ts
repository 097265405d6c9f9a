import { z } from 'zod'
import { ApprovalRow, GrantRow } from './approval.ts'
import { AttachmentRow, AttachmentUseRow, BlobRow, ChunkRow } from './attachment.ts'
import { DelegationRow } from './delegation.ts'
import { ExternalPeerRow, OutgoingTaskRow } from './external-peer.ts'
import { MemoryRow } from './memory.ts'
import { ActivityRow, InboxRow } from './message.ts'
import { AuditRow, OperationRow, ResultRow } from './operation.ts'
import { JoinCodeRow, NodeRow, OrganisationRow, PersonRow, TokenRow, WorkspaceRow } from './organisation.ts'
import { RowId, RowTime, rowHead } from './primitives.ts'
import { PinRow, SecretRow, UpstreamRow } from './upstream.ts'

/** An agent of a data folder. Its `workspace` is the agent's name. */
export const FolderAgentRow = z.object({
  ...rowHead,
  /** The data folder; another one does not archive it. */
  folder: z.string().max(128),
})
export type FolderAgentRow = z.infer<typeof FolderAgentRow>

/** A lease: work that at most one process does at a time. */
export const LeaseRow = z.object({
  // The id names the work.
  ...rowHead,
  holder: RowId,
  /** The holder's machine. */
  host: z.string().max(255),
  /** The holder's data folder, so that its next owner knows that the holder is gone. */
  folder: z.string().max(128),
  leaseUntil: RowTime,
})
export type LeaseRow = z.infer<typeof LeaseRow>

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
  seats: FolderAgentRow,
  leases: LeaseRow,
  externalpeers: ExternalPeerRow,
  outgoingtasks: OutgoingTaskRow,
} as const

export type Table = keyof typeof ROWS
/** A row as it is read. */
export type Row<T extends Table> = z.infer<(typeof ROWS)[T]>
/** A row as it is written, without fields that have a default. */
export type NewRow<T extends Table> = z.input<(typeof ROWS)[T]>
