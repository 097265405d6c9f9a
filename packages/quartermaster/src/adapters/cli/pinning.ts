import { messageOf } from '../../contracts/index.ts'
import type { CliHost } from './host.ts'
import { findUnpinned, pinnedArgs, unpinnedWarning } from './package-pin.ts'

/** An entry whose package has a version, or a word about it. */
export interface PinnedEntry {
  readonly entry: Readonly<Record<string, unknown>>
  readonly notes: readonly string[]
}

/** Looks whether an entry runs a package without a version, and gives it the present one where that is asked for. */
export async function pinEntry(
  entry: Readonly<Record<string, unknown>>,
  { pin, host }: { pin: boolean; host: Pick<CliHost, 'packageVersion'> },
): Promise<PinnedEntry> {
  const { command, args = [] } = entry
  const words = Array.isArray(args) ? args.map(String) : []
  const unpinned = typeof command === 'string' ? findUnpinned(command, words) : undefined
  if (!unpinned) return { entry, notes: [] }
  if (!pin) return { entry, notes: [unpinnedWarning(unpinned)] }
  if (unpinned.runner !== 'npm') {
    return { entry, notes: [`Only packages of npm can be pinned by --pin. ${unpinnedWarning(unpinned)}`] }
  }
  try {
    const version = await host.packageVersion(unpinned.package)
    return {
      entry: { ...entry, args: pinnedArgs(words, unpinned, version) },
      notes: [`Pinned: ${unpinned.package}@${version}.`],
    }
  } catch (error) {
    return { entry, notes: [`Not pinned: ${messageOf(error)}`] }
  }
}
