import type { PackageRun } from './package-run.ts'
import { findUnpinned, namedPackages, placeOf, withTexts } from './unpinned-packages.ts'

/** A program with what it is given. */
export interface ProgramCall {
  readonly command: string
  readonly args: readonly string[]
}

interface VersionedArguments {
  readonly args: readonly string[]
  /** The packages that got a version, by their names, as they are written now. */
  readonly versions: Readonly<Record<string, string>>
}

/** The arguments of a call, in which packages that have no version have the exact one that another call names. */
export function withVersionsOf({ command, args }: ProgramCall, other: ProgramCall): VersionedArguments {
  const known = namedPackages(other.command, other.args)
  const found = findUnpinned(command, args).flatMap(({ runner, package: name, place }) => {
    const present = place && args[place.argument]?.slice(place.from, place.to)
    if (!place || present === undefined || !isWithoutVersion(present, name)) return []
    const exact = known.find(one => one.runner === runner && isVersionOf(one, name))
    return exact ? [{ name, place, written: exact.written }] : []
  })
  return {
    args: withTexts(
      args,
      found.map(({ place, written }) => [place, written]),
    ),
    versions: Object.fromEntries(found.map(({ name, written }) => [name, written])),
  }
}

/** The arguments of a call, in which packages have no versions. */
export function withoutVersions({ command, args }: ProgramCall): string[] {
  const named = namedPackages(command, args).flatMap(({ runner, word, written }) => {
    const place = ARCHIVE.test(written) ? undefined : placeOf(word, written)
    return place ? [[place, written.replace(NAME[runner], '$1')] as const] : []
  })
  return withTexts(args, named)
}

/** A file, whatever stands before its ending. */
const ARCHIVE = /\.(?:tgz|tar|gz|zip|whl)$/i

const PYTHON_NAME = /^([\w.-]+(?:\[[\w\s,.-]*\])?)\s*(?:[=<>!~]{1,3}\s*v?\d[\w.+!*-]*|@\s*(?:latest|v?\d[\w.+!-]*))$/

/** The name of a package that has a version behind it. What an address or a folder has behind it says more than that. */
const NAME = {
  npm: /^((?:@[\w.~-]+\/)?[\w.~-]+)@(?:[v=^~<>]*[\w*][\w.+*-]*)?$/,
  deno: /^(jsr:@[\w.~-]+\/[\w.~-]+)@[v=^~<>]*[\w*][\w.+*-]*$/,
  uv: PYTHON_NAME,
  pipx: PYTHON_NAME,
  docker: /^((?:[^/]+\/)*[^/:@]+)(?::[\w.-]+)?(?:@sha256:[\da-f]+)?$/,
} as const satisfies Record<PackageRun['runner'], RegExp>

/** What more stands in the word, such as another package, would be lost. A range or a tag is the word of whoever wrote it. */
function isWithoutVersion(written: string, name: string): boolean {
  return written.startsWith(name) && /^(?:[@:]latest|@)?$/.test(written.slice(name.length))
}

function isVersionOf({ runner, written }: { runner: PackageRun['runner']; written: string }, name: string): boolean {
  return written.startsWith(name) && EXACT[runner].test(written.slice(name.length))
}

const SEMANTIC = /^@[v=]?\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/
const PYTHON = /^(?:={2,3}|@)v?\d[\w.+-]*$/

/** An exact version behind the name, of nothing but what may stand unquoted in a script. */
const EXACT = {
  npm: SEMANTIC,
  deno: SEMANTIC,
  uv: PYTHON,
  pipx: PYTHON,
  docker: /^(?::(?!latest$)[\w.-]+|@sha256:[\da-f]+)$/,
} as const satisfies Record<PackageRun['runner'], RegExp>
