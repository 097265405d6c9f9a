import { createHash } from 'node:crypto'

/** Which agent a client is. */
export interface AgentPlace {
  readonly agent: string
  /** The first one when absent. */
  readonly organisation?: string | undefined
}

const OURS = 'quartermaster'
/** Clients put it before the name of each tool, and some have 60 characters for both. */
const LONGEST = 32

/**
 * What the server is called in a client: each agent has a name of its own, or the second one that a client is told of would take
 * the place of the first. No client takes more than letters, digits, `-` and `_`.
 */
export function serverName({ agent, organisation = 'default' }: AgentPlace): string {
  const place = organisation === 'default' ? [agent] : [organisation, agent]
  if (place.join('/') === 'default') return OURS
  const name = [OURS, ...place].join('-').replaceAll(/[^\w-]/g, '-')
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 5)}-${markOf(place.join('/'))}`
}

/** Tells two apart that begin alike. */
function markOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 4)
}
