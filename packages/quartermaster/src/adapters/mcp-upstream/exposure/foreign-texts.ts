import { isAround } from './containment.ts'
import { pathsIn, type Standpoint } from './paths-in.ts'

/** What texts of a stranger lead to: the data folder, or so many places that nobody looks at them all. */
export type Leading = 'elsewhere' | 'dataFolder' | 'tooMany'

/** Whether texts that a program gets from somebody else have a path in them that holds the data folder or lies in it. */
export async function whereForeignLeads(
  texts: readonly string[],
  { dataDir, ...at }: Standpoint & { readonly dataDir: string },
): Promise<Leading> {
  const paths = new Set<string>()
  for (const text of texts) {
    for (const path of pathsIn(text, at)) paths.add(path)
    if (paths.size > MOST_PATHS) return 'tooMany'
  }
  const all = [...paths]
  for (let i = 0; i < all.length; i += AT_ONCE) {
    const looks = await Promise.all(all.slice(i, i + AT_ONCE).map(path => isAround(path, dataDir)))
    if (looks.includes(true)) return 'dataFolder'
  }
  return 'elsewhere'
}

/** Each takes a look at the disk: so many take about a second. */
const MOST_PATHS = 20_000
const AT_ONCE = 16
