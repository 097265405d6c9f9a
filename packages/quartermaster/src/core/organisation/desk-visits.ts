import { AppError, type Registration, type WorkspaceRow } from '../../contracts/index.ts'
import { update } from '../store/index.ts'
import type { DeskDeps, Handlers } from './desk-handlers.ts'
import { peersOf } from './peers.ts'

type Operation = 'register' | 'heartbeat' | 'me' | 'peers'

export function visitHandlers({ organisation: org, store, clock }: DeskDeps): Handlers<Operation> {
  const { presence } = org

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
    peers: ({ workspace }, { query }) => peersOf(org, workspace, query),
  }
}

/** What is not said stays as it was. */
function saidIn({ delivery, capacity, card }: Registration): Partial<WorkspaceRow> {
  return { ...(delivery && { delivery }), ...(capacity !== undefined && { capacity }), ...(card && { card }) }
}
