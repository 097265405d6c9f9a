import type { UpstreamStatus } from '../contracts/index.ts'
import type { Generation } from '../core/catalogue/index.ts'

/** What upstreams offer without the tools that could not be taken in, be it for their names or for what is wrong with them. */
export function withOfferedCounts(
  statuses: readonly UpstreamStatus[],
  { capabilities }: Pick<Generation, 'capabilities'>,
): UpstreamStatus[] {
  return statuses.map(status => {
    const found = capabilities.get(status.name)
    if (!found) return status
    const { offered } = status.tools
    // Where its own name is taken, nothing of it is there.
    const lost =
      found.unit === `upstream:${status.name}` ? found.leftOut.filter(({ isWrong }) => isWrong).length : offered
    return lost === 0 ? status : { ...status, tools: { ...status.tools, offered: Math.max(0, offered - lost) } }
  })
}
