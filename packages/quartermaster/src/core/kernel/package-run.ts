import { type ProgramLine, programIn, programLines, programName } from './command-line.ts'
import { range } from './script-words.ts'

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

/** All that a command runs of somebody's packages. */
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
const NAMING = {
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
  const named = valuesOf(NAMING[runner])
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
