import { DEFAULT_ORGANISATION, type Finding } from '../contracts/index.ts'
import type { ExternalPeers, PeerTrouble } from '../core/external-peers/index.ts'

export interface PeerFindingsDeps {
  peers(): Promise<Pick<ExternalPeers, 'condition'>>
  /** Whether the store answers; absent where it is not open. */
  storeAnswers?(): Promise<boolean>
}

/** What is to be said of A2A agents elsewhere. Only an `up` looks at them, and a store that is away is told of by itself. */
export async function peerFindings({ peers: open, storeAnswers }: PeerFindingsDeps): Promise<Finding[]> {
  if (!(await storeAnswers?.())) return []
  const { reached, troubles } = await (await open()).condition()
  const names = reached.map(({ workspace }) => workspace)
  const fine: Finding[] = names.length === 0 ? [] : [{ level: 'ok', what: `External peers: ${names.join(', ')}.` }]
  return [...fine, ...troubles.map(troubleFinding)]
}

function troubleFinding({ organisation, name, why, reachedAt, tasks }: PeerTrouble): Finding {
  const where = organisation === DEFAULT_ORGANISATION ? '' : ` --organisation ${organisation}`
  const since = reachedAt === null ? '' : ` since ${new Date(reachedAt).toISOString()}`
  const waiting = tasks === 0 ? '' : ` ${tasks === 1 ? 'One task waits' : `${tasks} tasks wait`} for it.`
  return {
    level: 'warning',
    what: `External peer "${name}" has not been reached${since}: ${why}${waiting}`,
    fix: `Correct what is said here; it is tried again by itself, and at once with: quartermaster peers refresh ${name}${where}`,
  }
}
