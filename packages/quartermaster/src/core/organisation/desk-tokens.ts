import { AppError, type WorkspaceRow } from '../../contracts/index.ts'
import type { Handlers } from './desk-handlers.ts'
import { visible } from './desk-workspaces.ts'
import type { Organisation } from './organisation.ts'
import type { Visitor } from './visitors.ts'
import { unknownWorkspace } from './workspaces.ts'

type Operation = 'listTokens' | 'createToken' | 'rotateToken' | 'revokeToken'

/** How long both tokens are good when nobody says. */
const OVERLAP_MS = 3_600_000

export function tokenHandlers(org: Organisation): Handlers<Operation> {
  const { workspaces, tokens } = org

  /** Others than the owner have to do with their own tokens alone. */
  async function own(visitor: Visitor, id: string): Promise<WorkspaceRow> {
    const row = await visible(org, visitor, id)
    if (visitor.kind === 'workspace' && row.id !== visitor.workspace.id) throw unknownWorkspace(id)
    return row
  }

  function expectToken(visitor: Visitor, id: string): void {
    const holding = tokens.holding(id)
    const isOwn =
      visitor.kind === 'owner' ||
      (visitor.kind === 'workspace' && holding?.kind === 'agent' && holding.name === visitor.workspace.workspace)
    if (!isOwn || holding?.organisation !== visitor.organisation)
      throw new AppError('NAME_UNKNOWN', 'There is no such token here.')
  }

  /** With what is made of another token, one that is limited could do more than it may, or for longer. */
  function expectUnlimited(visitor: Visitor, id: string): void {
    if (visitor.kind !== 'workspace' || id === visitor.tokenId) return
    const { organisation, workspace, tokenId } = visitor
    const mine = tokens
      .listOf({ organisation, kind: 'agent', name: workspace.workspace })
      .find(one => one.id === tokenId)
    if (mine && mine.scopes === undefined && mine.expiresAt === null) return
    throw new AppError('REQUEST_REFUSED', 'This token is limited or has an end, so it rotates itself and no other.')
  }

  return {
    async listTokens(visitor, { params }) {
      const { organisation, workspace: name } = await own(visitor, params.id)
      return { tokens: tokens.listOf({ organisation, kind: 'agent', name }) }
    },
    async createToken({ organisation }, { params, body }) {
      const { workspace: agent, status } = await workspaces.pick(organisation, params.id)
      if (status !== 'active')
        throw new AppError('EDIT_CONFLICT', `The workspace "${agent}" is archived. Bring it back first.`)
      return tokens.create({ agent, organisation, ...body })
    },
    async rotateToken(visitor, { params, body }) {
      expectToken(visitor, params.id)
      expectUnlimited(visitor, params.id)
      return tokens.rotate(params.id, { overlapMs: body.overlapMs ?? OVERLAP_MS })
    },
    async revokeToken(visitor, { params }) {
      expectToken(visitor, params.id)
      return tokens.revoke(params.id)
    },
  }
}
