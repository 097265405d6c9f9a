import type { AgentCard, Skill, WorkspaceRow } from '../../contracts/index.ts'

export interface CardParts {
  /** What it can do by its view; `undefined` for one that is not an agent of this folder. */
  readonly skills: readonly Skill[] | undefined
  /** Where it is reached here. */
  readonly url: string
  /** Of this program, for those that say none of their own. */
  readonly version: string
}

/** What others are told of a workspace. What the owner wrote and what it said itself are somebody's words, as they are. */
export function cardOf({ workspace, role, description, card }: WorkspaceRow, parts: CardParts): AgentCard {
  return {
    name: workspace,
    description: description ?? card?.description ?? (role === '' ? `The workspace "${workspace}".` : role),
    version: card?.version ?? parts.version,
    url: card?.url ?? parts.url,
    // The view is what is known; what it says itself is for those that have none here.
    skills: [...(parts.skills ?? card?.skills ?? [])],
  }
}
