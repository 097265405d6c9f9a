import { AppError, type Registration, type WorkspaceRow } from '../../contracts/index.ts'
import { update } from '../store/index.ts'
import { relationOf } from './access.ts'
import type { DeskDeps, Handlers } from './desk-handlers.ts'
import { peerFacts } from './facts.ts'
import { pageOf } from './page-of.ts'

type Operation = 'register' | 'heartbeat' | 'me' | 'peers'

export function visitHandlers({ organisation: org, store, clock }: DeskDeps): Handlers<Operation> {
  const { workspaces, presence } = org

  function beat(workspace: WorkspaceRow) {
    presence.beat(workspace)
    return { presence: presence.of(workspace), nextWithinSeconds: presence.nextWithinSeconds }
  }

  return {
    async register({ workspace: before }, { body }) {
      const set = { ...saidIn(body), registeredAt: Math.round(clock.now()) }
      const where = { id: before.id, status: 'active' } as const
      const outcome = await store.commit([update('workspaces', { where, set, guard: 'workspace.active' })])
      if (!outcome.committed)
        throw new AppError('EDIT_CONFLICT', `The workspace "${before.workspace}" was archived meanwhile.`)
      const row = { ...before, ...set }
      return { ...beat(row), workspace: await org.factsOf(row) }
    },
    heartbeat: async ({ workspace }) => beat(workspace),
    async me(visitor) {
      const { kind, organisation } = visitor
      if (kind === 'owner') return { kind, organisation }
      if (kind === 'person') return { kind, organisation, name: visitor.name }
      return { kind, organisation, workspace: await org.factsOf(visitor.workspace) }
    },
    async peers({ workspace: from }, { query }) {
      const others = (await workspaces.reachable(from)).filter(({ id }) => id !== from.id)
      const { items, nextCursor } = pageOf(others, query)
      const peers = items.flatMap(row => {
        const relation = relationOf(from, row)
        return relation ? [peerFacts(row, relation, presence)] : []
      })
      return others.length > 0 ? { peers, nextCursor } : { peers, nextCursor, reason: NOBODY }
    },
  }
}

/** What is not said stays as it was. */
function saidIn({ delivery, capacity, card }: Registration): Partial<WorkspaceRow> {
  return { ...(delivery && { delivery }), ...(capacity !== undefined && { capacity }), ...(card && { card }) }
}

const NOBODY =
  'There is nobody above, beside or directly below this workspace. The owner gives others a place: quartermaster workspaces create'
