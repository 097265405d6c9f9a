import type { RemovedUpstream } from '../../contracts/index.ts'

/** What became of secrets that one entry needs no longer. */
export type ReleasedSecrets = Pick<RemovedUpstream, 'removedSecrets' | 'keptSecrets'>

/**
 * Secrets that nothing but settings referred to which went on their own, by name, with what these are called. They are never taken
 * out: nobody asked for that, a slip of the pen is enough, and there may be no other copy.
 */
export type SparedSecrets = Readonly<Record<string, readonly string[]>>

export interface ReleaseOptions {
  /** Which of them are in the secrets file; absent where that cannot be read. */
  readonly there: readonly string[] | undefined
  readonly keep: boolean
  readonly spared: SparedSecrets
  /** Where each of them is named by now. */
  uses(names: readonly string[]): Promise<ReadonlyMap<string, string[]>>
}

/** Which of these secrets nothing names any more, and which stay and why. Nothing is taken out. */
export async function releasable(
  names: readonly string[],
  { there, keep, spared, uses: look }: ReleaseOptions,
): Promise<ReleasedSecrets> {
  const kept = (name: string, usedBy: string[]) => ({ name, usedBy, ...wasNeeded(spared, name) })
  if (keep || !there) return { removedSecrets: [], keptSecrets: (there ?? names).map(name => kept(name, [])) }
  const uses = await look(there)
  const stays = (name: string) => Object.hasOwn(spared, name) || uses.get(name)?.length !== 0
  return {
    removedSecrets: there.filter(name => !stays(name)),
    keptSecrets: there.filter(stays).map(name => kept(name, uses.get(name) ?? [])),
  }
}

function wasNeeded(spared: SparedSecrets, name: string): { wasFor?: string[] } {
  const settings = Object.hasOwn(spared, name) ? spared[name] : undefined
  return settings ? { wasFor: [...settings] } : {}
}
