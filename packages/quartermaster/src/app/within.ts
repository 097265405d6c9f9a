import { DEFAULT_ORGANISATION } from '../contracts/index.ts'
import type { Organisation } from '../core/organisation/index.ts'

/** Which organisation is meant; the first when none is named. Throws `NAME_UNKNOWN` where there is none of that name. */
export type Within = (named: string | undefined) => Promise<string>

/** Whichever the owner of the data folder means. The first is always there, and no store is opened to find out. */
export function ownersWithin(open: () => Promise<Pick<Organisation, 'organisations'>>): Within {
  return async (named = DEFAULT_ORGANISATION) => {
    if (named !== DEFAULT_ORGANISATION) await (await open()).organisations.expect(named)
    return named
  }
}
