import type { AddedUpstream } from '../../contracts/index.ts'

const DONE = { gone: 'Taken out of', kept: 'Still in' }
const AHEAD = { gone: 'Would be taken out of', kept: 'Would stay in' }

/** What became of the secrets of something that is gone, as lines; or what would, where nothing was done. */
export function releasedLines(
  { removedSecrets = [], keptSecrets = [] }: Pick<AddedUpstream, 'removedSecrets' | 'keptSecrets'>,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): string[] {
  const words = isDryRun ? AHEAD : DONE
  const kept = keptSecrets.map(secret => `${words.kept} the secrets file: ${secret.name}${reasonOf(secret)}.`)
  const gone = `${words.gone} the secrets file: ${removedSecrets.join(', ')}.`
  return removedSecrets.length > 0 ? [gone, ...kept] : kept
}

/** What nothing names any more is for its owner to use again or to take out. */
function reasonOf({ name, usedBy, wasFor = [] }: NonNullable<AddedUpstream['keptSecrets']>[number]): string {
  if (usedBy.length > 0) return `, named in ${usedBy.join(', ')}`
  if (wasFor.length === 0) return ''
  return `, which was for ${wasFor.join(', ')}: refer to it again (\${secret:${name}}), or take it out of secrets.json`
}
