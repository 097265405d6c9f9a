import type { AddedUpstream } from '../../contracts/index.ts'

const DONE = { gone: 'Taken out of', kept: 'Still in' }
const AHEAD = { gone: 'Would be taken out of', kept: 'Would stay in' }

/** What became of the secrets of something that is gone, as lines; or what would, where nothing was done. */
export function releasedLines(
  { removedSecrets = [], keptSecrets = [] }: Pick<AddedUpstream, 'removedSecrets' | 'keptSecrets'>,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): string[] {
  const words = isDryRun ? AHEAD : DONE
  const kept = keptSecrets.map(({ name, usedBy }) => {
    const where = usedBy.length > 0 ? `, named in ${usedBy.join(', ')}` : ''
    return `${words.kept} the secrets file: ${name}${where}.`
  })
  const gone = `${words.gone} the secrets file: ${removedSecrets.join(', ')}.`
  return removedSecrets.length > 0 ? [gone, ...kept] : kept
}
