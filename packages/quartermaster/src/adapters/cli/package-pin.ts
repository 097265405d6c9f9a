import { type PackageRun, packageRunOf, programName } from '../../core/kernel/index.ts'

/** A package that a command runs in whatever version there is at the time. */
export interface Unpinned extends Pick<PackageRun, 'runner' | 'program'> {
  /** Without a version. */
  readonly package: string
  /** As it is written. */
  readonly word: string
  /** The argument it stands in; nothing where that is a script. */
  readonly index: number | undefined
}

/** The package that a command would run without a version of its own, if it does. */
export function findUnpinned(command: string, args: readonly string[]): Unpinned | undefined {
  const run = packageRunOf(command, args)
  if (run?.at === undefined) return undefined
  const { runner, program, words, start, at } = run
  const word = words[at] ?? ''
  const name = FINDERS[runner](word.replace(NAMING, ''))
  // The command itself is none of the arguments.
  const index = start === undefined ? undefined : start + at - 1
  return name === undefined ? undefined : { runner, program, package: name, word, index }
}

/** The arguments with the version put to the package. */
export function pinnedArgs(args: readonly string[], unpinned: Unpinned, version: string): string[] {
  const { package: name, word, index } = unpinned
  const pinned = `${NAMING.exec(word)?.[0] ?? ''}${name}@${version}`
  if (index !== undefined) return args.map((arg, i) => (i === index ? pinned : arg))
  return args.map(arg => withWord(arg, unpinned, pinned))
}

/** A script with another word in place of the package. The same word may stand before, as the name of a folder. */
function withWord(script: string, { program, word }: Unpinned, next: string): string {
  const parts = script.split(/([\s'";&|()]+)/)
  const runs = parts.findIndex(part => programName(part) === program)
  const at = parts.findIndex((part, i) => runs >= 0 && i > runs && part === word)
  return parts.map((part, i) => (i === at ? next : part)).join('')
}

/** What to tell whoever adds such a command. */
export function unpinnedWarning({ runner, package: name }: Unpinned): string {
  const how = {
    npm: `${name}@VERSION, or --pin for the present one`,
    uv: `${name}@VERSION`,
    pipx: `${name}==VERSION`,
    deno: `${name}@VERSION`,
    docker: `${name}:TAG or ${name}@sha256:…`,
  } as const satisfies Record<PackageRun['runner'], string>
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
