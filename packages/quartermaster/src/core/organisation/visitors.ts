import type { WorkspaceRow } from '../../contracts/index.ts'
import type { Tokens } from './tokens.ts'
import type { Workspaces } from './workspaces.ts'

/** Who asks, known from a credential, and in which organisation. */
export type Visitor =
  | { readonly kind: 'owner'; readonly organisation: string }
  | { readonly kind: 'person'; readonly organisation: string; readonly name: string; readonly tokenId: string }
  | WorkspaceVisitor

export interface WorkspaceVisitor {
  readonly kind: 'workspace'
  readonly organisation: string
  readonly workspace: WorkspaceRow
  readonly tokenId: string
  /** What the token may be used for; everything when there are none. */
  readonly scopes: readonly string[]
}

export interface IdentifyDeps {
  readonly tokens: Pick<Tokens, 'holderOf' | 'fresh'>
  readonly workspaces: Pick<Workspaces, 'named'>
}

/** Whose token this is, by what counts at this moment. Nobody's when it has ended, or its workspace is archived or not there. */
export async function identify(
  token: string,
  { tokens, workspaces }: IdentifyDeps,
): Promise<Exclude<Visitor, { kind: 'owner' }> | undefined> {
  await tokens.fresh(token)
  const holding = tokens.holderOf(token)
  if (!holding) return undefined
  const { organisation, kind, name, tokenId, scopes } = holding
  if (kind === 'person') return { kind: 'person', organisation, name, tokenId }
  const workspace = await workspaces.named(organisation, name)
  // It may have been taken back while the store was asked.
  if (workspace?.status !== 'active' || !tokens.holderOf(token)) return undefined
  return { kind: 'workspace', organisation, workspace, tokenId, scopes }
}
