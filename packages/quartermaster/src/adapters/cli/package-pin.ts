import { type PackageRun, type PlacedWord, packageRunsOf } from '../../core/kernel/index.ts'

/** A package that a command runs in whatever version there is at the time. */
export interface Unpinned extends Pick<PackageRun, 'runner'> {
  /** Without a version. */
  readonly package: string
  /** Where it is written; nothing where that is put together of pieces, or filled in by a shell. */
  readonly place: Place | undefined
}

/** A piece of one of the arguments. */
interface Place {
  readonly argument: number
  readonly from: number
  readonly to: number
}

/** The packages that a command would run without a version of their own, also in the scripts in it. */
export function findUnpinned(command: string, args: readonly string[]): Unpinned[] {
  return packageRunsOf(command, args).flatMap(({ runner, placed, at }) => {
    const word = at === undefined ? undefined : placed[at]
    const written = word?.text.replace(NAMING, '') ?? ''
    const name = unpinnedName(runner, written)
    return word && name !== undefined ? [{ runner, package: name, place: placeOf(word, written) }] : []
  })
}

/** What a shell fills in may be any name. */
function unpinnedName(runner: PackageRun['runner'], written: string): string | undefined {
  const find = FINDERS[runner]
  const isAny = written !== '' && find(written.replace(FILLED_IN, 'any')) !== undefined
  return find(written) ?? (isAny ? written : undefined)
}

/** `$NAME` and `${NAME}`, also written so that it is the shell's; of `$(…)` only the sign is a part of the word. */
const FILLED_IN = /\$+(?:\{[^}]*\}|\w+)?|%\w+%/g

function placeOf({ at, places }: PlacedWord, written: string): Place | undefined {
  const own = places.slice(places.length - written.length)
  const from = own[0] ?? 0
  const isWhole = own.every((place, i) => place === from + i)
  // The command itself is none of the arguments.
  return isWhole && written.search(FILLED_IN) < 0 ? { argument: at - 1, from, to: from + own.length } : undefined
}

/** The arguments with another text in each of these places. */
export function withTexts(args: readonly string[], changes: readonly (readonly [Place, string])[]): string[] {
  // From the end, so that what stands before keeps its place.
  const last = [...changes].sort(([one], [other]) => other.from - one.from)
  return args.map((arg, i) =>
    last
      .filter(([{ argument }]) => argument === i)
      .reduce((text, [{ from, to }, next]) => text.slice(0, from) + next + text.slice(to), arg),
  )
}

/** What to tell whoever adds such a command. */
export function unpinnedWarning({ runner, package: name, place }: Unpinned): string {
  const how = {
    npm: `${name}@VERSION${place ? ', or --pin for the present one' : ' by hand'}`,
    uv: `${name}@VERSION`,
    pipx: `${name}==VERSION`,
    deno: `${name}@VERSION`,
    docker: `${name}:TAG or ${name}@sha256:…`,
  } as const satisfies Record<PackageRun['runner'], string>
  if (name.search(FILLED_IN) >= 0)
    return `What "${name}" stands for may have no version, so every start may run another program than the one you looked at. Write name and version by hand.`
  return `"${name}" has no version, so every start may run another program than the one you looked at. Write ${how[runner]}.`
}

/** What may stand in one word with a package. */
const NAMING = /^(?:-p|--package|--from|--spec)=/

/** The name of what a word names without a version. */
type Finder = (word: string) => string | undefined

function unpinnedNpm(word: string): string | undefined {
  const [, name, version] = /^((?:@[\w.~-]+\/)?[\w.~-]+)(?:@(.+))?$/.exec(word) ?? []
  // Folders, archives and repositories are no packages of a registry.
  if (name === undefined || /^\.|\.(?:tgz|js|mjs)$/.test(name)) return undefined
  return isMoving(version) ? name : undefined
}

function isMoving(version: string | undefined): boolean {
  return version === undefined || !/^\d+\.\d+\.\d+/.test(version)
}

function unpinnedPython(word: string): string | undefined {
  const [, name, version] = /^([\w.-]+(?:\[[\w,-]*\])?)(?:(?:==|@)(.+))?$/.exec(word) ?? []
  if (name === undefined || name.startsWith('.')) return undefined
  return version === undefined || version === 'latest' ? name : undefined
}

function unpinnedImage(word: string): string | undefined {
  const [, name, tag] = /^((?:[^/]+\/)*[^/:@]+)(?:[:@](.+))?$/.exec(word) ?? []
  return tag === undefined || tag === 'latest' ? name : undefined
}

/** What it is given as an address is left alone. */
function unpinnedDeno(word: string): string | undefined {
  const [, name, version] = /^((?:npm|jsr):(?:@[\w.~-]+\/)?[\w.~-]+)(?:@([^/]+))?(?:\/.*)?$/.exec(word) ?? []
  return isMoving(version) ? name : undefined
}

const FINDERS = {
  npm: unpinnedNpm,
  uv: unpinnedPython,
  pipx: unpinnedPython,
  docker: unpinnedImage,
  deno: unpinnedDeno,
} as const satisfies Record<PackageRun['runner'], Finder>
