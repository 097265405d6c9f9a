import { type ProgramLine, programIn, programLines, programName } from './command-line.ts'

/** A program that fetches a package if it is not there yet, and runs it. */
export interface PackageRun extends ProgramLine {
  /** Whose packages it runs. */
  readonly runner: 'npm' | 'uv' | 'pipx' | 'docker' | 'deno'
  /** As people know it: `npx`. */
  readonly program: string
  /** Indexes of the words that name packages; none where a project's own program is run. */
  readonly packages: readonly number[]
}

interface Runner {
  readonly runner: PackageRun['runner']
  readonly programs: readonly string[]
  /** The sub-command that runs a package. */
  readonly words: readonly string[]
  /** Runs what a project has, which may have to be fetched as well. */
  readonly isOfProject?: true
}

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

/** Also what the package runs in its turn: what stands behind an image, or behind `--` of a package such as `dotenv-cli`. */
function runsIn(line: ProgramLine): PackageRun[] {
  const run = packageRunIn(line)
  const first = run?.packages[0]
  if (!run || first === undefined) return run ? [run] : []
  const behind = run.runner === 'docker' ? first : line.words.indexOf('--', first)
  if (behind < 0) return [run]
  const from = behind + 1 + programIn(line.words.slice(behind + 1))
  const start = line.start === undefined ? {} : { start: line.start + from }
  return [run, ...runsIn({ words: line.words.slice(from), ...start })]
}

/** The package that one program runs. */
export function packageRunIn(line: ProgramLine): PackageRun | undefined {
  const program = programName(line.words[0] ?? '')
  for (const one of RUNNERS) {
    const from = one.programs.includes(program) ? behindWords(line.words, one) : undefined
    if (from === undefined) continue
    const packages = packagesAt(line.words, from, one)
    // Everything else that Deno runs is a file.
    if (one.runner !== 'deno' || /^(?:npm|jsr|https?):/.test(line.words[packages[0] ?? -1] ?? '')) {
      return { ...line, runner: one.runner, program, packages }
    }
  }
  return undefined
}

/** Index behind the words of a sub-command, options between them passed over. */
function behindWords(words: readonly string[], { words: command, runner }: Runner): number | undefined {
  let at = 1
  for (const word of command) {
    at = firstOperand(words, at, WITH_VALUE[runner]) ?? words.length
    if (words[at] !== word) return undefined
    at++
  }
  return at
}

/** Options that name the package, so that the first word is a program of it. */
const PACKAGE_OPTIONS: Readonly<Partial<Record<PackageRun['runner'], RegExp>>> = {
  npm: /^(?:-p|--package)(?:$|=)/,
  uv: /^--from(?:$|=)/,
  pipx: /^--spec(?:$|=)/,
}

function packagesAt(words: readonly string[], from: number, { runner, isOfProject }: Runner): number[] {
  const operand = firstOperand(words, from, WITH_VALUE[runner])
  const valuesOf = (option: RegExp | undefined) =>
    words.slice(0, operand).flatMap((word, i) => {
      if (i < from || !option?.test(word)) return []
      const at = word.includes('=') ? i : i + 1
      return at < words.length ? [at] : []
    })
  const named = valuesOf(PACKAGE_OPTIONS[runner])
  const first = named.length > 0 || isOfProject || operand === undefined ? named : [operand]
  // Python fetches these beside the first.
  return runner === 'uv' || runner === 'pipx' ? [...first, ...valuesOf(/^--with(?:$|=)/)] : first
}

/** Index of the first word from `from` on that is no option and no value of one. */
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
