import { type ProgramLine, programLines, programName } from './command-line.ts'
import { canonicalJson } from './json.ts'
import { packageRunIn } from './package-run.ts'
import { type ProgramCall, withoutVersions } from './package-versions.ts'

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
  const isNamed = [line.words[at - 1], line.words[at]].some(word => NAMING.test(word ?? ''))
  return isNamed ? undefined : at + 1
}

const NAMING = /^(?:-p|--package|--from|--spec|--with)(?:$|=)/

interface Interpreter {
  readonly programs: readonly string[]
  /** What has to stand behind it. */
  readonly words: readonly string[]
  /** Options that take no word behind them. Behind any other one, nobody knows which word is the script. */
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
