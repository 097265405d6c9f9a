import { promptFor } from '../adapters/prompt/index.ts'
import { AppError, type PROMPT_ROUTES } from '../contracts/index.ts'
import { type Agents, agentViewOf, type Seat } from '../core/agents/index.ts'
import { type Handlers, type Organisation, unknownWorkspace, type Visitor } from '../core/organisation/index.ts'

export interface PromptHandlersDeps {
  readonly agents: Pick<Agents, 'seatOf'>
  readonly organisation: Pick<Organisation, 'workspaces'>
}

/** How the prompt of an agent is answered. */
export function promptHandlers(deps: PromptHandlersDeps): Handlers<keyof typeof PROMPT_ROUTES> {
  return {
    async agentPrompt(visitor, { params: { name }, query: { shell, withoutDisabled } }) {
      const seat = await seatFor(visitor, name, deps)
      return promptFor(agentViewOf(seat), { shell: shell === 'true', withoutDisabled: withoutDisabled === 'true' })
    },
  }
}

/** Of whoever else is there, what they can do is told to the owner alone, and whether they are there at all. */
async function seatFor(visitor: Visitor, name: string, { agents, organisation }: PromptHandlersDeps): Promise<Seat> {
  const row = await organisation.workspaces.seek(visitor.organisation, name)
  const isOwn = visitor.kind === 'workspace' && visitor.workspace.id === row?.id
  if (visitor.kind === 'workspace' && !isOwn) throw notItsOwn(visitor.workspace.workspace)
  const seat = visitor.kind === 'owner' || isOwn ? agents.seatOf(row ?? { ...visitor, workspace: name }) : undefined
  if (!seat) throw unknownWorkspace(name)
  return seat
}

function notItsOwn(own: string): AppError {
  return new AppError('NAME_UNKNOWN', `This token reads its own prompt and no other: that of "${own}".`)
}
