import type { AddedUpstream } from '../../contracts/index.ts'

const DONE = {
  kept: 'Stays in its entry',
  version: 'Stays in its version',
  gone: 'Gone from its entry, because it is reached in another way now',
}
const AHEAD = {
  kept: 'Would stay in its entry',
  version: 'Would stay in its version',
  gone: 'Would go from its entry, because it would be reached in another way',
}

/** What of an entry stays when its place is taken, and what does not, as lines; or what would, where nothing was done. */
export function keptLines(
  {
    keptSettings = [],
    goneSettings = [],
    keptVersions = {},
  }: Pick<AddedUpstream, 'keptSettings' | 'goneSettings' | 'keptVersions'>,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): string[] {
  const words = isDryRun ? AHEAD : DONE
  const line = (what: string, names: readonly string[]) => (names.length > 0 ? [`${what}: ${names.join(', ')}.`] : [])
  return [
    ...line(words.kept, keptSettings),
    ...line(words.gone, goneSettings),
    ...line(words.version, Object.values(keptVersions)),
  ]
}
