import type { LeftBehind, Upstreams } from '../adapters/mcp-upstream/index.ts'
import type { Finding } from '../contracts/index.ts'
import type { Project } from './project.ts'

export interface LeftBehindFindingsDeps {
  readonly upstreams: Pick<Upstreams, 'leftBehind'>
  readonly project: Pick<Project, 'storeChoice'>
}

/** What the store has of upstreams whose entry was taken out by hand: nobody uses it, and nothing else tells of it. */
export async function leftBehindFindings({ upstreams, project }: LeftBehindFindingsDeps): Promise<Finding[]> {
  // What is wrong with the store is told by whoever looks at that.
  const all = await upstreams.leftBehind().catch(() => [])
  const isShared = project.storeChoice.databaseUrl !== undefined
  const signedIn = all.filter(({ logins }) => logins > 0)
  const pinned = all.filter(({ logins, pins }) => logins === 0 && pins > 0)
  return [
    ...signedIn.map(one => loginFinding(one, { isShared })),
    ...pinFindings(
      pinned.map(({ name }) => name),
      { isShared },
    ),
  ]
}

/** A credential that is of no use, and that whoever gets hold of the store and its key has all the same. */
function loginFinding({ name, logins }: LeftBehind, { isShared }: { isShared: boolean }): Finding {
  const [there, used] = logins === 1 ? ['is a login', 'it'] : [`are ${logins} logins`, 'them']
  const here = isShared ? 'nobody here uses' : 'nobody uses'
  const elsewhere = isShared ? 'Where another node on this database has it, leave it. Otherwise put' : 'Put'
  return {
    level: 'warning',
    what: `There ${there} at "${name}", and the configuration has no such upstream, so ${here} ${used}.`,
    fix: `${elsewhere} its entry back, or forget all that is known of it: quartermaster remove ${name}`,
  }
}

/** So many are named. Servers that capabilities named once leave pins as well. */
const MOST_NAMED = 5

/** Nothing is wrong with it: an entry may be left out for a day. */
function pinFindings(names: readonly string[], { isShared }: { isShared: boolean }): Finding[] {
  if (names.length === 0) return []
  const named = names.slice(0, MOST_NAMED).map(name => `"${name}"`)
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
  const which = names.length === 1 ? names[0] : 'NAME'
  const where = isShared ? ', where no other node on this database has it' : ''
  const what =
    `There are pins of ${named.join(', ')}${more}, and the configuration has no such upstream. They count again when it has; ` +
    `to have them forgotten${where}: quartermaster remove ${which}`
  return [{ level: 'ok', what }]
}
