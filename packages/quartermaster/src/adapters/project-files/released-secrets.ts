import type { RemovedUpstream } from '../../contracts/index.ts'

/** What became of secrets that one entry needs no longer. */
export type ReleasedSecrets = Pick<RemovedUpstream, 'removedSecrets' | 'keptSecrets'>

export interface ReleaseOptions {
  /** Which of them are in the secrets file; absent where that cannot be read. */
  readonly there: readonly string[] | undefined
  readonly keep: boolean
  /** Where each of them is named by now. */
  uses(names: readonly string[]): Promise<ReadonlyMap<string, string[]>>
}

/** Which of these secrets nothing names any more, and which stay and why. Nothing is taken out. */
export async function releasable(
  names: readonly string[],
  { there, keep, uses: look }: ReleaseOptions,
): Promise<ReleasedSecrets> {
  if (keep || !there) return { removedSecrets: [], keptSecrets: (there ?? names).map(name => ({ name, usedBy: [] })) }
  const uses = await look(there)
  const isUsed = (name: string) => uses.get(name)?.length !== 0
  return {
    removedSecrets: there.filter(name => !isUsed(name)),
    keptSecrets: there.filter(isUsed).map(name => ({ name, usedBy: uses.get(name) ?? [] })),
  }
}
