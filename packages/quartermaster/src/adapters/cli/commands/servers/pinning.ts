import { type AddedUpstream, messageOf } from '../../../../contracts/index.ts'
import {
  findUnpinned,
  isFilledIn,
  type PackageRun,
  packageRunsOf,
  type Unpinned,
  withTexts,
} from '../../../../core/shell/index.ts'
import type { CliHost } from '../../host.ts'

/** An entry whose packages have versions where that was possible, and a note about each other package. */
export interface PinnedEntry {
  readonly entry: Readonly<Record<string, unknown>>
  readonly notes: readonly string[]
  /** The notes about packages without any version, by the package. */
  readonly versionless: ReadonlyMap<string, string>
}

/** The notes that apply to the written entry. A replaced entry may have kept the versions of its packages. */
export function notesBut({ notes, versionless }: PinnedEntry, kept: AddedUpstream['keptVersions'] = {}): string[] {
  const wrong = new Set(Object.keys(kept).map(name => versionless.get(name)))
  return notes.filter(note => !wrong.has(note))
}

/** Finds packages without an exact version in an entry, and writes the present one where `pin` is set. */
export async function pinEntry(
  entry: Readonly<Record<string, unknown>>,
  { pin, isDryRun = false, host }: { pin: boolean; isDryRun?: boolean; host: Pick<CliHost, 'packageVersion'> },
): Promise<PinnedEntry> {
  const { command, args = [] } = entry
  const words = Array.isArray(args) ? args.map(String) : []
  const isElsewhere = namesRegistry(entry)
  const find = (args: readonly string[]) =>
    typeof command === 'string'
      ? findUnpinned(command, args).map(one =>
          isElsewhere && one.runner === 'npm' ? { ...one, place: undefined } : one,
        )
      : []
  const unpinned = find(words)
  const unread = typeof command === 'string' ? findUnread(command, words).map(unreadWarning) : []
  if (unpinned.length === 0 || !pin) return { entry, ...notesOn(unpinned, unpinnedWarning, unread) }
  const { versions, faults } = await versionsOf(unpinned, host)
  const changes = unpinned.flatMap(({ wanted, package: name, place }) => {
    const version = versions.get(wanted)
    return place && version !== undefined ? [[place, `${name}@${version}`] as const] : []
  })
  const pinned = withTexts(words, changes)
  // A package is pinned when the same check no longer finds it.
  const left = find(pinned)
  const verb = isDryRun ? 'Would be pinned' : 'Pinned'
  const done = unpinned.flatMap(({ wanted, package: name }) => {
    const version = versions.get(wanted)
    const isLeft = version === undefined || left.some(one => one.wanted === wanted)
    return isLeft ? [] : [`${verb}: ${name}@${version}.`]
  })
  const { notes, versionless } = notesOn(left, one => faults.get(one.wanted) ?? leftNote(one, isElsewhere), unread)
  return {
    entry: changes.length > 0 ? { ...entry, args: pinned } : entry,
    notes: once([...done, ...notes]),
    versionless,
  }
}

function notesOn(unpinned: readonly Unpinned[], noteOn: (one: Unpinned) => string, more: readonly string[]) {
  const versionless = unpinned.filter(one => one.wanted === one.package)
  return {
    notes: once([...unpinned.map(noteOn), ...more]),
    versionless: new Map(versionless.map(one => [one.package, noteOn(one)])),
  }
}

/** Whether an entry names a registry of its own, where the same name may be another package. */
function namesRegistry({ env, args }: Readonly<Record<string, unknown>>): boolean {
  const names = typeof env === 'object' && env !== null ? Object.keys(env) : []
  const words = Array.isArray(args) ? args.map(String) : []
  return names.some(name => REGISTRY_VARIABLE.test(name)) || words.some(word => REGISTRY_WORD.test(word))
}

const REGISTRY_VARIABLE = /npm_(?:config_(?:@[^\s:]{1,214}:)?)?(?:registry|userconfig)/i

const REGISTRY_WORD = new RegExp(
  String.raw`(?:^|[\s"'])--(?:@[^\s:]{1,214}:)?(?:registry|userconfig)\b|${REGISTRY_VARIABLE.source}`,
  'i',
)

/** The version of each package according to npm, or why there is none. */
async function versionsOf(unpinned: readonly Unpinned[], host: Pick<CliHost, 'packageVersion'>) {
  const versions = new Map<string, string>()
  const faults = new Map<string, string>()
  for (const wanted of once(unpinned.filter(({ runner, place }) => runner === 'npm' && place).map(one => one.wanted))) {
    try {
      versions.set(wanted, await host.packageVersion(wanted))
    } catch (error) {
      faults.set(wanted, `Not pinned: ${messageOf(error)}`)
    }
  }
  return { versions, faults }
}

function leftNote(one: Unpinned, isElsewhere: boolean): string {
  const why = isElsewhere
    ? 'Not pinned, because the entry names a registry of its own, which is not asked.'
    : 'Not pinned, because it is inside a script, or is not written as one name with its version.'
  return `${one.runner === 'npm' ? why : 'Only packages of npm can be pinned by --pin.'} ${unpinnedWarning(one)}`
}

function once(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

/** Programs that run packages, in a command from which the packages cannot be read. */
function findUnread(command: string, args: readonly string[]): string[] {
  const named = [command, ...args].flatMap(word => [...word.matchAll(PACKAGE_PROGRAM)].map(([program]) => program))
  const read = new Set(packageRunsOf(command, args).map(({ program }) => program))
  return [...new Set(named)].filter(program => !read.has(program))
}

const PACKAGE_PROGRAM = /(?<![\w.@-])(?:npx|bunx|pnpx|uvx)(?![\w/@=-]|\.(?!cmd|exe|ps1|$))/g

function unpinnedWarning({ runner, wanted, package: name, place }: Unpinned): string {
  const how = {
    npm: `${name}@VERSION${place ? ', or --pin for the present one' : ' by hand'}`,
    uv: `${name}==VERSION`,
    pipx: `${name}==VERSION`,
    deno: `${name}@VERSION`,
    docker: `${name}:TAG or ${name}@sha256:…`,
  } as const satisfies Record<PackageRun['runner'], string>
  if (isFilledIn(wanted))
    return `What "${wanted}" stands for may have no exact version, so every start may run another program than the one you looked at. Write name and version by hand.`
  const what = wanted === name ? `"${name}" has no version` : `"${wanted}" is no exact version`
  return `${what}, so every start may run another program than the one you looked at. Write ${how[runner]}.`
}

function unreadWarning(program: string): string {
  return `Which packages "${program}" runs here cannot be told. Look whether each of them has an exact version.`
}

/** A note about an entry with a secret among its arguments, which others may read, and what to do instead. */
export function argumentNotes({ args }: Readonly<Record<string, unknown>>, instead = 'use --env'): string[] {
  if (!Array.isArray(args) || !args.some(word => typeof word === 'string' && word.includes('${secret:'))) return []
  return [
    `A secret is among its arguments, which other accounts on this machine can read with ps. Where it takes it from a variable instead, ${instead}.`,
  ]
}
