/** Characters of the rights that are noted for the next login: a server may name others with every request. */
export const MOST_WANTED = 2_000

/** The rights that were wanted before and those that are wanted now, as OAuth writes them; only the former if it is too much. */
export function wantedWith(before: string | undefined, more: string | undefined): string | undefined {
  const rights = `${before ?? ''} ${more ?? ''}`.split(' ').filter(right => right !== '')
  const all = [...new Set(rights)].join(' ') || undefined
  return all !== undefined && all.length > MOST_WANTED ? before : all
}
