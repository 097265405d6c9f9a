import type { DelegationDesk, DelegationRow, Settings } from '../../contracts/index.ts'
import { escapeLine } from '../kernel/index.ts'
import { type Organisation, workspaceOf } from '../organisation/index.ts'
import type { Delegations } from './delegations.ts'
import { isOpen, OPEN_STATES } from './machine.ts'

/** As many as somebody looks through for one that it has lost. */
const MOST_OPEN = 10

export interface DelegationDeskDeps {
  readonly delegations: Delegations
  readonly organisation: Organisation
  readonly settings: Pick<Settings, 'delegationWaitSeconds'>
}

/** Gives tasks to peers for an agent's tools, on behalf of its workspace. */
export function createDelegationDesk({ delegations, organisation, settings }: DelegationDeskDeps): DelegationDesk {
  return {
    async delegate(actor, wish) {
      const asker = await workspaceOf(organisation, actor)
      return delegations.detail((await delegations.delegate(asker, wish)).row)
    },
    async wait(actor, id, onChange) {
      const asker = await workspaceOf(organisation, actor)
      const waitMs = settings.delegationWaitSeconds * 1_000
      const { signal } = actor
      const row = await delegations.wait(await delegations.expect(asker, id), {
        waitMs,
        signal,
        onChange: now => onChange(wordsFor(now)),
      })
      // Nobody here can tell whether an answer was heard; one whose asker has gone is told by the notice.
      if (!isOpen(row.state) && !signal.aborted) await delegations.seen(row)
      return delegations.detail(row)
    },
    async show(actor, id, offset) {
      const asker = await workspaceOf(organisation, actor)
      return delegations.detail(await delegations.expect(asker, id), offset)
    },
    async open(actor) {
      const workspace = await workspaceOf(organisation, actor)
      const states = OPEN_STATES
      const page = await delegations.list({ organisation: workspace.organisation, workspace, states, limit: MOST_OPEN })
      return page.delegations
    },
    async cancel(actor, id) {
      return delegations.detail(await delegations.cancel(await workspaceOf(organisation, actor), id))
    },
  }
}

/** Names and words are the peer's, so they stand in quotation marks that nothing in them ends. */
function wordsFor({ state, progress, toName }: DelegationRow): string {
  const peer = literal(toName)
  if (state !== 'in_progress') return `${peer}: ${state}`
  return progress === null ? `${peer} has taken the task` : `${peer} says ${literal(progress)}`
}

const literal = (text: string) => escapeLine(JSON.stringify(text))
