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
export function cardOf(row: WorkspaceRow, parts: CardParts): AgentCard {
  const { workspace, card } = row
  return {
    name: workspace,
    description: goodFor(row),
    version: card?.version ?? parts.version,
    url: card?.url ?? parts.url,
    skills: skillsIn(parts.skills ?? [], card?.skills ?? []),
  }
}

/** The view is what is known, so that it counts where both speak of the same. */
function skillsIn(view: readonly Skill[], own: readonly Skill[]): Skill[] {
  const known = new Set(view.map(({ id }) => id))
  return [...view, ...own.filter(({ id }) => !known.has(id))]
}

/** What somebody could ask it for: what it is there, and what is said about it. */
function goodFor({ workspace, role, description, card }: WorkspaceRow): string {
  const words = description ?? card?.description ?? ''
  if (role === '') return words === '' ? `The workspace "${workspace}".` : words
  return words === '' ? role : `${role}${/\p{P}$/u.test(role) ? ' ' : '. '}${words}`
}
