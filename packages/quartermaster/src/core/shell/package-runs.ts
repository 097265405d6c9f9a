import { canonicalJson } from '../kernel/index.ts'
import { type PlacedWord, type ProgramLine, programIn, programLines, programName } from './command-line.ts'
import { range } from './script.ts'

/** A program that fetches a package, where it has none yet, and runs it. */
export interface PackageRun extends ProgramLine {
  /** Whose packages it runs. */
  readonly runner: 'npm' | 'uv' | 'pipx' | 'docker' | 'deno'
  /** As people know it: `npx`. */
  readonly program: string
  /** The words that name packages, if any do: a project's own programs need what the project says. */
  readonly packages: readonly number[]
}

interface Runner {
  readonly runner: PackageRun['runner']
  readonly programs: readonly string[]
  /** The words that make them run a package. */
  readonly words: readonly string[]
  /** Runs what a project has, which may have to be fetched as well. */
  readonly isOfProject?: true
}

/** The programs that run packages. */
const RUNNERS: readonly Runner[] = [
  { runner: 'npm', programs: ['npx', 'bunx', 'pnpx'], words: [] },
  { runner: 'npm', programs: ['npm'], words: ['exec'] },
  { runner: 'npm', programs: ['npm', 'bun'], words: ['x'] },
  { runner: 'npm', programs: ['pnpm', 'yarn'], words: ['dlx'] },
  { runner: 'uv', programs: ['uvx'], words: [] },
  { runner: 'uv', programs: ['uv'], words: ['tool', 'run'] },
  { runner: 'uv', programs: ['uv'], words: ['run'], isOfProject: true },
  { runner: 'pipx', programs: ['pipx'], words: ['run'] },
  { runner: 'docker', programs: ['docker', 'podman'], words: ['run'] },
  { runner: 'docker', programs: ['docker', 'podman'], words: ['container', 'run'] },
  { runner: 'deno', programs: ['deno'], words: ['run'] },
]

const PYTHON_OPTIONS =
  '--from --spec --with --with-editable --with-requirements --python -p --index-url -i --extra-index-url --index --default-index ' +
  '--find-links -f --refresh-package --pip-args --suffix --directory --project --config-file --cache-dir --env-file'

/** Options that take the next word, which is neither a sub-command nor a package then. */
export const WITH_VALUE: Readonly<Record<PackageRun['runner'], ReadonlySet<string>>> = {
  npm: wordsOf(
    '-p --package -c --call -w --workspace -C --dir --prefix --registry --cache --userconfig --globalconfig --loglevel ' +
      '--node-options --script-shell --tag --filter -F --cwd',
  ),
  uv: wordsOf(PYTHON_OPTIONS),
  pipx: wordsOf(PYTHON_OPTIONS),
  docker: wordsOf(
    '-e --env --env-file -v --volume --volumes-from --mount --name --network --net -p --publish -w --workdir -u --user ' +
      '--entrypoint -l --label --platform --add-host -m --memory --cpus --gpus --pull -h --hostname --tmpfs --cap-add ' +
      '--cap-drop --security-opt --device --dns --restart --ulimit --shm-size --log-driver --log-opt --ipc --pid --userns ' +
      '--context -c -H --host --config --log-level --connection',
  ),
  deno: wordsOf('-c --config --import-map --lock --cert --seed -L --log-level'),
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

/** All packages that a command runs. */
export function packageRunsOf(command: string, args: readonly string[]): PackageRun[] {
  return programLines(command, args).flatMap(runsIn)
}

/** With what it runs in its turn: what stands behind an image, or behind `--` of a package such as `dotenv-cli`. */
function runsIn(line: ProgramLine): PackageRun[] {
  const run = packageRunIn(line)
  const first = run?.packages[0]
  if (!run || first === undefined) return run ? [run] : []
  const behind = run.runner === 'docker' ? first : line.words.indexOf('--', first)
  if (behind < 0) return [run]
  const from = behind + 1 + programIn(line.words.slice(behind + 1))
  return [run, ...runsIn({ words: line.words.slice(from), placed: line.placed.slice(from) })]
}

/** The same of one program. */
export function packageRunIn(line: ProgramLine): PackageRun | undefined {
  const program = programName(line.words[0] ?? '')
  for (const one of RUNNERS) {
    const from = one.programs.includes(program) ? behind(line.words, one) : undefined
    if (from === undefined) continue
    const packages = packagesAt(line.words, from, one)
    if (one.runner !== 'deno' || REMOTE.test(line.words[packages[0] ?? -1] ?? '')) {
      return { ...line, runner: one.runner, program, packages }
    }
  }
  return undefined
}

/** Everything else that Deno runs is a file. */
const REMOTE = /^(?:npm|jsr|https?):/

/** The place behind the words that are asked for, options between them passed over. */
function behind(words: readonly string[], { words: asked, runner }: Runner): number | undefined {
  let at = 1
  for (const word of asked) {
    at = firstOperand(words, at, WITH_VALUE[runner]) ?? words.length
    if (words[at] !== word) return undefined
    at++
  }
  return at
}

/** Options that name a package, so that the first word is a program of it. */
const PACKAGE_OPTIONS = {
  npm: /^(?:-p|--package)(?:$|=)/,
  uv: /^--from(?:$|=)/,
  pipx: /^--spec(?:$|=)/,
  docker: undefined,
  deno: undefined,
} as const satisfies Record<PackageRun['runner'], RegExp | undefined>

/** Of Python, one that is fetched beside the first. */
const ADDING = /^--with(?:$|=)/

function packagesAt(words: readonly string[], from: number, { runner, isOfProject }: Runner): number[] {
  const operand = firstOperand(words, from, WITH_VALUE[runner])
  // What stands behind is for what is run.
  const options = range(from, operand ?? words.length)
  const valuesOf = (option: RegExp | undefined) =>
    options
      .filter(i => option?.test(words[i] ?? ''))
      .map(i => (words[i]?.includes('=') ? i : i + 1))
      .filter(i => i < words.length)
  const named = valuesOf(PACKAGE_OPTIONS[runner])
  const first = named.length > 0 || isOfProject || operand === undefined ? named : [operand]
  return runner === 'uv' || runner === 'pipx' ? [...first, ...valuesOf(ADDING)] : first
}

/** The first word from a place on that is no option, and its place. */
export function firstOperand(
  words: readonly string[],
  from: number,
  withValue: ReadonlySet<string>,
): number | undefined {
  for (let i = from; i < words.length; i++) {
    const word = words[i] ?? ''
    if (!word.startsWith('-')) return i
    if (withValue.has(word)) i++
  }
  return undefined
}

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
      return word ? [{ runner, word, written: word.text.replace(OPTION_PREFIX, '') }] : []
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
const OPTION_PREFIX = /^(?:-p|--package|--from|--spec|--with)=/

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
    return place ? [[place, written.replace(NAME_BEFORE_VERSION[runner], '$1')] as const] : []
  })
  return withTexts(args, named)
}

/** A file, whatever stands before its ending. */
const ARCHIVE = /\.(?:tgz|tar|gz|zip|whl)$/i

const PYTHON_NAME = /^([\w.-]+(?:\[[\w\s,.-]*\])?)\s*(?:[=<>!~]{1,3}\s*v?\d[\w.+!*-]*|@\s*(?:latest|v?\d[\w.+!-]*))$/

/** The name of a package that has a version behind it. What an address or a folder has behind it says more than that. */
const NAME_BEFORE_VERSION = {
  npm: /^((?:@[\w.~-]+\/)?[\w.~-]+)@(?:[v=^~<>]*[\w*][\w.+*-]*)?$/,
  deno: /^(jsr:@[\w.~-]+\/[\w.~-]+)@[v=^~<>]*[\w*][\w.+*-]*$/,
  uv: PYTHON_NAME,
  pipx: PYTHON_NAME,
  docker: /^((?:[^/]+\/)*[^/:@]+)(?::[\w.-]+)?(?:@sha256:[\da-f]+)?$/,
} as const satisfies Record<PackageRun['runner'], RegExp>

/** What more stands in the word, such as another package, would be lost. A range or a tag was chosen by the author and stays. */
function isWithoutVersion(written: string, name: string): boolean {
  return written.startsWith(name) && /^(?:[@:]latest|@)?$/.test(written.slice(name.length))
}

function isVersionOf({ runner, written }: { runner: PackageRun['runner']; written: string }, name: string): boolean {
  return written.startsWith(name) && EXACT_VERSION[runner].test(written.slice(name.length))
}

const SEMANTIC = /^@[v=]?\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/
const PYTHON = /^(?:={2,3}|@)v?\d[\w.+-]*$/

/** An exact version behind the name, of nothing but what may stand unquoted in a script. */
const EXACT_VERSION = {
  npm: SEMANTIC,
  deno: SEMANTIC,
  uv: PYTHON,
  pipx: PYTHON,
  docker: /^(?::(?!latest$)[\w.-]+|@sha256:[\da-f]+)$/,
} as const satisfies Record<PackageRun['runner'], RegExp>

/** A program, and where it is started. */
export interface StartedProgram extends ProgramCall {
  readonly cwd?: unknown
}

/**
 * Which program that is: the same text for two that are the same. A word that is not known to be of no account may say what is run,
 * so all of them count but the versions of packages and, behind a package or a script, folders that it is given.
 */
export function programIdentity({ command, args, cwd }: StartedProgram): string {
  const words = [command, ...withoutVersions({ command, args })]
  const own = words.slice(0, endOfRun(words))
  const more = words.slice(own.length)
  const first = more.findIndex(word => !FOLDER.test(word))
  const counted = first < 0 ? [] : more.slice(first)
  return canonicalJson([own, counted, isAnywhere(own) ? null : (cwd ?? null)])
}

/** A folder by its looks, and nothing that a shell would read as more. Two slashes before it would be another host. */
const FOLDER = /^(?:\.{1,2}|(?:[A-Za-z]:|~|\.{1,2})?(?:[\\/]\.?[^.\\/:*?"'`<>|&^%;$()\r\n]+)+[\\/]?)$/

/** The place behind what is known to be run; nothing where that is not known. */
function endOfRun(words: readonly string[]): number | undefined {
  const [line, ...others] = programLines(words[0] ?? '', words.slice(1))
  if (!line || others.length > 0) return undefined
  const start = words.length - line.words.length
  // The words of a script are pieces of one of these.
  if (!line.words.every((word, i) => word === words[start + i])) return undefined
  const end = endOfPackage(line) ?? endOfScript(line.words)
  return end === undefined ? undefined : start + end
}

function endOfPackage(line: ProgramLine): number | undefined {
  const run = packageRunIn(line)
  // What stands behind an image may be the program that is run in it.
  if (!run || run.runner === 'docker') return undefined
  const [at, ...others] = run.packages
  if (at === undefined || others.length > 0) return undefined
  // The one that an option names may be there for what is named next.
  const isNamed = [line.words[at - 1], line.words[at]].some(word => NAMED_BY_OPTION.test(word ?? ''))
  return isNamed ? undefined : at + 1
}

const NAMED_BY_OPTION = /^(?:-p|--package|--from|--spec|--with)(?:$|=)/

interface Interpreter {
  readonly programs: readonly string[]
  /** What has to stand behind it. */
  readonly words: readonly string[]
  /** Options that take no word behind them. Behind any other option the script is unknown. */
  readonly switches: RegExp
}

/** Need not be complete: of what is not here, every word counts. */
const INTERPRETERS: readonly Interpreter[] = [
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
  for (const { programs, words: asked, switches } of INTERPRETERS) {
    if (!programs.includes(program) || !asked.every((word, i) => words[1 + i] === word)) continue
    let at = 1 + asked.length
    while (switches.test(words[at] ?? '')) at++
    if (SCRIPT.test(words[at] ?? '')) return at + 1
  }
  return undefined
}

/** Any other word may be a command of the interpreter: `node inspect`, `tsx watch`. */
const SCRIPT = /^[^-].*\.(?:[cm]?[jt]sx?|py)$/s

/** Whether it is the same wherever it is started. Packages and projects are looked for in the folder first. */
function isAnywhere([program = '', script = '', ...others]: readonly string[]): boolean {
  const isFound = ABSOLUTE.test(program) || !/[\\/]/.test(program)
  return others.length === 0 && isFound && ABSOLUTE.test(script) && endOfScript([program, script]) === 2
}

const ABSOLUTE = /^(?:[A-Za-z]:)?[\\/]/
