import { messageOf } from '../../contracts/index.ts'
import type { CliHost } from './host.ts'
import { findUnpinned, type Unpinned, unpinnedWarning, withTexts } from './package-pin.ts'

/** An entry whose packages have a version, or a word about each that has none. */
export interface PinnedEntry {
  readonly entry: Readonly<Record<string, unknown>>
  readonly notes: readonly string[]
}

/** Looks whether an entry runs packages without a version, and gives them the present one where that is asked for. */
export async function pinEntry(
  entry: Readonly<Record<string, unknown>>,
  { pin, host }: { pin: boolean; host: Pick<CliHost, 'packageVersion'> },
): Promise<PinnedEntry> {
  const { command, args = [] } = entry
  const words = Array.isArray(args) ? args.map(String) : []
  const unpinned = typeof command === 'string' ? findUnpinned(command, words) : []
  if (typeof command !== 'string' || unpinned.length === 0) return { entry, notes: [] }
  if (!pin) return { entry, notes: once(unpinned.map(unpinnedWarning)) }
  const { versions, faults } = await versionsOf(unpinned, host)
  const changes = unpinned.flatMap(({ wanted, package: name, place }) => {
    const version = versions.get(wanted)
    return place && version !== undefined ? [[place, `${name}@${version}`] as const] : []
  })
  const pinned = withTexts(words, changes)
  // Whoever warns has the last word on what is pinned.
  const left = findUnpinned(command, pinned)
  const done = unpinned.flatMap(({ wanted, package: name }) => {
    const version = versions.get(wanted)
    return version === undefined || left.some(one => one.wanted === wanted) ? [] : [`Pinned: ${name}@${version}.`]
  })
  return {
    entry: changes.length > 0 ? { ...entry, args: pinned } : entry,
    notes: once([...done, ...left.map(one => faults.get(one.wanted) ?? leftNote(one))]),
  }
}

/** What npm says of each, or why it says nothing. */
async function versionsOf(unpinned: readonly Unpinned[], host: Pick<CliHost, 'packageVersion'>) {
  const versions = new Map<string, string>()
  const faults = new Map<string, string>()
  for (const wanted of once(unpinned.filter(isPinnable).map(one => one.wanted))) {
    try {
      versions.set(wanted, await host.packageVersion(wanted))
    } catch (error) {
      faults.set(wanted, `Not pinned: ${messageOf(error)}`)
    }
  }
  return { versions, faults }
}

function isPinnable({ runner, place }: Unpinned): boolean {
  return runner === 'npm' && place !== undefined
}

function leftNote(one: Unpinned): string {
  const why =
    one.runner === 'npm'
      ? 'Not pinned, because it is not written as one name with its version.'
      : 'Only packages of npm can be pinned by --pin.'
  return `${why} ${unpinnedWarning(one)}`
}

function once(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
