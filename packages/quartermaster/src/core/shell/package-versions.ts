import { canonicalJson } from '../kernel/index.ts'
import { type ProgramLine, programLines, programName } from './command-line.ts'
import { type PackageRun, packageRunIn, packageRunsOf } from './package-runs.ts'

/** A package that a command runs in whatever version there is at the time. */
export interface Unpinned extends Moving {
  readonly runner: PackageRun['runner']
  /** Where it is written; absent where no other text can be put: inside a script, or filled in later. */
  readonly place: Place | undefined
}

/** What a word names without an exact version. */
interface Moving {
  /** As it is written, with the range or the tag that it has. */
  readonly wanted: string
  /** Without these. */
  readonly package: string
}

/** The end of an argument. */
interface Place {
  readonly argument: number
  readonly from: number
}

/** The packages that a command runs without an exact version, those in scripts included. */
export function findUnpinned(command: string, args: readonly string[]): Unpinned[] {
  return namedPackages(command, args).flatMap(({ runner, written, place }) => {
    const find = FINDERS[runner]
    const isOpen = written !== '' && find(written.replace(FILLED_IN, 'any')) !== undefined
    const moving = find(written) ?? (isOpen ? { wanted: written, package: written } : undefined)
    // An alias (`mine@npm:other`) has two places for a version.
    return moving ? [{ runner, ...moving, place: ALIAS.test(written) ? undefined : place }] : []
  })
}

/** The packages of a command, as it names them, with whatever it says of their versions. */
function namedPackages(command: string, args: readonly string[]) {
  return packageRunsOf(command, args).flatMap(({ runner, words, start, packages }) =>
    packages.map(at => {
      const word = words[at] ?? ''
      const written = word.replace(/^(?:-p|--package|--from|--spec|--with)=/, '')
      const isFixed = start !== undefined && !isFilledIn(written)
      const place = isFixed ? { argument: start + at - 1, from: word.length - written.length } : undefined
      return { runner, written, place }
    }),
  )
}

/** `$NAME`, `${NAME}` and `%NAME%`. */
const FILLED_IN = /\$+(?:\{[^}]*\}|\w+)?|%\w+%/g

/** Whether a part of a text is filled in before the program gets it. */
export function isFilledIn(text: string): boolean {
  return text.search(FILLED_IN) >= 0
}

/** The arguments with another text in each of these places. */
export function withTexts(args: readonly string[], changes: readonly (readonly [Place, string])[]): string[] {
  const words = [...args]
  for (const [{ argument, from }, text] of changes) words[argument] = (words[argument] ?? '').slice(0, from) + text
  return words
}

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
  const packages = word.split(/,(?![^[]*\])(?=\s*[A-Za-z])/).map(one => unpinnedPythonPackage(one.trim()))
  return packages.find(moving => moving !== undefined)
}

function unpinnedPythonPackage(word: string): Moving | undefined {
  const [, name, specifier = ''] = /^([\w.-]+(?:\[[\w\s,.-]*\])?)\s*((?:[=<>!~@].*)?)$/s.exec(word) ?? []
  if (name === undefined || name.startsWith('.') || /\.(?:whl|tar\.gz|zip|py)$/.test(name)) return undefined
  // An address, a folder or a repository behind the name, or an exact version, with a marker of the platform behind it.
  if (/^@.*[:/\\]/s.test(specifier) || /^(?:={2,3}|@)\s*v?\d[\w.+!-]*\s*(?:;.*)?$/s.test(specifier)) return undefined
  return { wanted: /^(?:@latest)?$/.test(specifier) ? name : word, package: name }
}

function unpinnedImage(word: string): Moving | undefined {
  const [, name, tag] = /^((?:[^/]+\/)*[^/:@]+)(?:[:@](.+))?$/.exec(word) ?? []
  if (name === undefined || (tag !== undefined && tag !== 'latest')) return undefined
  return { wanted: name, package: name }
}

/** An address is left alone. */
function unpinnedDeno(word: string): Moving | undefined {
  const [, name, version] = /^((?:npm|jsr):(?:@[\w.~-]+\/)?[\w.~-]+)(?:@([^/]+))?(?:\/.*)?$/.exec(word) ?? []
  return name === undefined ? undefined : movingOf(`${name}@${version}`, name, version)
}

/** Finds what a word names without an exact version. */
const FINDERS = {
  npm: unpinnedNpm,
  uv: unpinnedPython,
  pipx: unpinnedPython,
  docker: unpinnedImage,
  deno: unpinnedDeno,
} as const satisfies Record<PackageRun['runner'], (word: string) => Moving | undefined>

/** A program with its arguments. */
export interface ProgramCall {
  readonly command: string
  readonly args: readonly string[]
}

/**
 * The arguments of a call in which packages without a version have the exact one that another call names, and these packages
 * by name as they are written now. A range or a tag was chosen by the author and stays.
 */
export function withVersionsOf(
  { command, args }: ProgramCall,
  other: ProgramCall,
): { readonly args: readonly string[]; readonly versions: Readonly<Record<string, string>> } {
  const known = namedPackages(other.command, other.args)
  const found = findUnpinned(command, args).flatMap(({ runner, package: name, place }) => {
    const present = place && args[place.argument]?.slice(place.from)
    // More in the word, such as another package, would be lost.
    if (!place || !present?.startsWith(name) || !/^(?:[@:]latest|@)?$/.test(present.slice(name.length))) return []
    const others = known.filter(one => one.runner === runner && one.written.startsWith(name))
    const exact = others.find(({ written }) => EXACT_VERSION[runner].test(written.slice(name.length)))
    return exact ? [{ name, place, written: exact.written }] : []
  })
  const changes = found.map(({ place, written }) => [place, written] as const)
  const versions = Object.fromEntries(found.map(({ name, written }) => [name, written]))
  return { args: withTexts(args, changes), versions }
}

const SEMANTIC = /^@[v=]?\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/
const PYTHON = /^(?:={2,3}|@)v?\d[\w.+-]*$/

/** An exact version behind the name. */
const EXACT_VERSION = {
  npm: SEMANTIC,
  deno: SEMANTIC,
  uv: PYTHON,
  pipx: PYTHON,
  docker: /^(?::(?!latest$)[\w.-]+|@sha256:[\da-f]+)$/,
} as const satisfies Record<PackageRun['runner'], RegExp>

const PYTHON_NAME = /^([\w.-]+(?:\[[\w\s,.-]*\])?)\s*(?:[=<>!~]{1,3}\s*v?\d[\w.+!*-]*|@\s*(?:latest|v?\d[\w.+!-]*))$/

/** The name of a package with a version behind it. An address or a folder behind the name says more than a version. */
const NAME_BEFORE_VERSION = {
  npm: /^((?:@[\w.~-]+\/)?[\w.~-]+)@(?:[v=^~<>]*[\w*][\w.+*-]*)?$/,
  deno: /^(jsr:@[\w.~-]+\/[\w.~-]+)@[v=^~<>]*[\w*][\w.+*-]*$/,
  uv: PYTHON_NAME,
  pipx: PYTHON_NAME,
  docker: /^((?:[^/]+\/)*[^/:@]+)(?::[\w.-]+)?(?:@sha256:[\da-f]+)?$/,
} as const satisfies Record<PackageRun['runner'], RegExp>

/**
 * The identity of a program and its working folder: the same text for two that are the same. Any word may say what is run, so all
 * of them count, except for versions of packages and for folders behind a package or a script.
 */
export function programIdentity({ command, args, cwd }: ProgramCall & { readonly cwd?: unknown }): string {
  const words = [command, ...withoutVersions({ command, args })]
  const own = words.slice(0, endOfRun(words))
  const more = words.slice(own.length)
  const first = more.findIndex(word => !FOLDER.test(word))
  const counted = first < 0 ? [] : more.slice(first)
  return canonicalJson([own, counted, isAnywhere(own) ? null : (cwd ?? null)])
}

function withoutVersions({ command, args }: ProgramCall): string[] {
  const named = namedPackages(command, args).flatMap(({ runner, written, place }) => {
    // The ending of an archive is no version.
    const isName = place && !ALIAS.test(written) && !/\.(?:tgz|tar|gz|zip|whl)$/i.test(written)
    return isName ? [[place, written.replace(NAME_BEFORE_VERSION[runner], '$1')] as const] : []
  })
  return withTexts(args, named)
}

/** A folder by its looks, and nothing that a shell would read as more. Two slashes before it would be another host. */
const FOLDER = /^(?:\.{1,2}|(?:[A-Za-z]:|~|\.{1,2})?(?:[\\/]\.?[^.\\/:*?"'`<>|&^%;$()\r\n]+)+[\\/]?)$/

/** Index behind the words that say what is run; nothing where that is not known, as with scripts. */
function endOfRun(words: readonly string[]): number | undefined {
  const [line, ...others] = programLines(words[0] ?? '', words.slice(1))
  if (line?.start === undefined || others.length > 0) return undefined
  const end = endOfPackage(line) ?? endOfScript(line.words)
  return end === undefined ? undefined : line.start + end
}

function endOfPackage(line: ProgramLine): number | undefined {
  const run = packageRunIn(line)
  // What stands behind an image may be the program that is run in it.
  if (!run || run.runner === 'docker') return undefined
  const [at, ...others] = run.packages
  if (at === undefined || others.length > 0) return undefined
  // A package that an option names may be there for the program that is named next.
  const isNamed = [line.words[at - 1], line.words[at]].some(word => NAMED_BY_OPTION.test(word ?? ''))
  return isNamed ? undefined : at + 1
}

const NAMED_BY_OPTION = /^(?:-p|--package|--from|--spec|--with)(?:$|=)/

/** Interpreters, the words before the script, and the options without a value. Need not be complete: elsewhere every word counts. */
const INTERPRETERS: readonly { programs: readonly string[]; words: readonly string[]; switches: RegExp }[] = [
  {
    programs: ['node', 'nodejs', 'bun', 'tsx'],
    words: [],
    switches: /^--(?:no-warnings|enable-source-maps|experimental-strip-types)$/,
  },
  { programs: ['python', 'python3'], words: [], switches: /^-[BEIOsSu]+$/ },
  { programs: ['deno', 'bun', 'uv'], words: ['run'], switches: /^(?:-A|--allow-[a-z]+(?:=.*)?)$/s },
]

function endOfScript(words: readonly string[]): number | undefined {
  const program = programName(words[0] ?? '')
  for (const { programs, words: command, switches } of INTERPRETERS) {
    if (!programs.includes(program) || !command.every((word, i) => words[1 + i] === word)) continue
    let at = 1 + command.length
    while (switches.test(words[at] ?? '')) at++
    // Any other word may be a command of the interpreter: `node inspect`, `tsx watch`.
    if (/^[^-].*\.(?:[cm]?[jt]sx?|py)$/s.test(words[at] ?? '')) return at + 1
  }
  return undefined
}

/** Whether it is the same wherever it is started. Packages and projects are looked for in the working folder first. */
function isAnywhere([program = '', script = '', ...others]: readonly string[]): boolean {
  const isFound = ABSOLUTE.test(program) || !/[\\/]/.test(program)
  return others.length === 0 && isFound && ABSOLUTE.test(script) && endOfScript([program, script]) === 2
}

const ABSOLUTE = /^(?:[A-Za-z]:)?[\\/]/
