import type { PlacedWord } from './command-line.ts'
import { type PackageRun, packageRunsOf } from './package-run.ts'

/** A package that a command runs in whatever version there is at the time. */
export interface Unpinned extends Pick<PackageRun, 'runner'>, Moving {
  /** Where it is written; nothing where no other text can stand there: it is put together of pieces, or filled in by a shell. */
  readonly place: Place | undefined
}

/** What a word names without an exact version. */
interface Moving {
  /** As it is written, with the range or the tag that it has. */
  readonly wanted: string
  /** Without these. */
  readonly package: string
}

/** A piece of one of the arguments. */
interface Place {
  readonly argument: number
  readonly from: number
  readonly to: number
}

/** The packages that a command would run without an exact version of their own, also in the scripts in it. */
export function findUnpinned(command: string, args: readonly string[]): Unpinned[] {
  return namedPackages(command, args).flatMap(({ runner, word, written }) => {
    const moving = movingIn(runner, written)
    return moving ? [{ runner, ...moving, place: placeOf(word, written) }] : []
  })
}

/** A package as a command names it, with whatever it says of its version. */
interface NamedPackage extends Pick<PackageRun, 'runner'> {
  readonly word: PlacedWord
  readonly written: string
}

/** All packages that a command would run, also in the scripts in it. */
export function namedPackages(command: string, args: readonly string[]): NamedPackage[] {
  return packageRunsOf(command, args).flatMap(({ runner, placed, packages }) =>
    packages.flatMap(at => {
      const word = placed[at]
      return word ? [{ runner, word, written: word.text.replace(NAMING, '') }] : []
    }),
  )
}

/** What a shell fills in may be any name. */
function movingIn(runner: PackageRun['runner'], written: string): Moving | undefined {
  const find = FINDERS[runner]
  const isAny = written !== '' && find(written.replace(FILLED_IN, 'any')) !== undefined
  return find(written) ?? (isAny ? { wanted: written, package: written } : undefined)
}

/** `$NAME` and `${NAME}`, also written so that it is the shell's, and commands. */
const FILLED_IN = /\$+(?:\{[^}]*\}|\w+|\([^]*\))?|`[^`]*`|%\w+%/g

/** Whether a shell puts something into it. */
export function isFilledIn(text: string): boolean {
  return text.search(FILLED_IN) >= 0
}

/** Where a package is written, if another text can stand there. */
export function placeOf({ at, places }: PlacedWord, written: string): Place | undefined {
  const own = places.slice(places.length - written.length)
  const from = own[0] ?? 0
  const isWhole = own.every((place, i) => place === from + i)
  // The command itself is none of the arguments. What goes by another name has two places for a version.
  return isWhole && !isFilledIn(written) && !ALIAS.test(written)
    ? { argument: at - 1, from, to: from + own.length }
    : undefined
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

/** What may stand in one word with a package. */
const NAMING = /^(?:-p|--package|--from|--spec|--with)=/

/** Finds in a word what it names without an exact version. */
type Finder = (word: string) => Moving | undefined

function unpinnedNpm(word: string): Moving | undefined {
  const [, alias, other] = ALIAS.exec(word) ?? []
  if (alias !== undefined && other !== undefined) {
    const moving = unpinnedNpm(other)
    return moving && { wanted: word, package: `${alias}${moving.package}` }
  }
  const [, name, version] = /^((?:@[\w.~-]+\/)?[\w.~-]+)(?:@(.*))?$/s.exec(word) ?? []
  // Folders, archives and repositories are no packages of a registry, whatever they are called here.
  if (name === undefined || /^\.|\.(?:tgz|js|mjs)$/.test(name) || ELSEWHERE.test(version ?? '')) return undefined
  return movingOf(word, name, version)
}

/** `name@npm:other@1.2.3` */
const ALIAS = /^((?:[^:]*@)?npm:)(.+)$/s

const ELSEWHERE = /[:/\\]|\.(?:tgz|tar|tar\.gz)$/i

function movingOf(word: string, name: string, version: string | undefined): Moving | undefined {
  if (version === undefined || /^(?:latest)?$/.test(version)) return { wanted: name, package: name }
  return EXACT.test(version) ? undefined : { wanted: word, package: name }
}

const EXACT = /^[v=]?\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/

/** Several may stand in one word behind `--with`, with commas between them as between the extras of one. */
function unpinnedPython(word: string): Moving | undefined {
  const [first, ...others] = word.split(/,(?![^[]*\])(?=\s*[A-Za-z])/)
  return (
    unpinnedPythonPackage(first?.trim() ?? '') ?? (others.length > 0 ? unpinnedPython(others.join(',')) : undefined)
  )
}

function unpinnedPythonPackage(word: string): Moving | undefined {
  const [, name, specifier = ''] = /^([\w.-]+(?:\[[\w\s,.-]*\])?)\s*((?:[=<>!~@].*)?)$/s.exec(word) ?? []
  if (name === undefined || name.startsWith('.') || /\.(?:whl|tar\.gz|zip|py)$/.test(name)) return undefined
  // An address, a folder or a repository behind the name.
  if (/^@.*[:/\\]/s.test(specifier) || EXACT_PYTHON.test(specifier)) return undefined
  return { wanted: /^(?:@latest)?$/.test(specifier) ? name : word, package: name }
}

/** With what it is asked for on some systems alone behind it. */
const EXACT_PYTHON = /^(?:={2,3}|@)\s*v?\d[\w.+!-]*\s*(?:;.*)?$/s

function unpinnedImage(word: string): Moving | undefined {
  const [, name, tag] = /^((?:[^/]+\/)*[^/:@]+)(?:[:@](.+))?$/.exec(word) ?? []
  if (name === undefined || (tag !== undefined && tag !== 'latest')) return undefined
  return { wanted: name, package: name }
}

/** What it is given as an address is left alone. */
function unpinnedDeno(word: string): Moving | undefined {
  const [, name, version] = /^((?:npm|jsr):(?:@[\w.~-]+\/)?[\w.~-]+)(?:@([^/]+))?(?:\/.*)?$/.exec(word) ?? []
  return name === undefined ? undefined : movingOf(`${name}@${version}`, name, version)
}

const FINDERS = {
  npm: unpinnedNpm,
  uv: unpinnedPython,
  pipx: unpinnedPython,
  docker: unpinnedImage,
  deno: unpinnedDeno,
} as const satisfies Record<PackageRun['runner'], Finder>
