import type { AddedUpstream } from '../../contracts/index.ts'

/** What became of the secrets of something that is gone, as lines. */
export function releasedLines({
  removedSecrets = [],
  keptSecrets = [],
}: Pick<AddedUpstream, 'removedSecrets' | 'keptSecrets'>): string[] {
  const kept = keptSecrets.map(({ name, usedBy }) => {
    const where = usedBy.length > 0 ? `, named in ${usedBy.join(', ')}` : ''
    return `Still in the secrets file: ${name}${where}.`
  })
  return removedSecrets.length > 0 ? [`Taken out of the secrets file: ${removedSecrets.join(', ')}.`, ...kept] : kept
}
