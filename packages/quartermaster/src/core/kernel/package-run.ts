import { type ProgramLine, programLines, programName } from './command-line.ts'

/** A program that fetches a package, where it has none yet, and runs it. */
export interface PackageRun extends ProgramLine {
  /** Whose packages it runs. */
  readonly runner: 'npm' | 'uv' | 'pipx' | 'docker'
  /** As people know it: `npx`. */
  readonly program: string
  /** Where its own arguments begin among the words. */
  readonly from: number
}

/** The programs that run packages, with the words that make them do so. */
const RUNNERS: readonly (readonly [PackageRun['runner'], programs: readonly string[], words: readonly string[]])[] = [
  ['npm', ['npx', 'bunx', 'pnpx'], []],
  ['npm', ['npm'], ['exec']],
  ['npm', ['npm', 'bun'], ['x']],
  ['npm', ['pnpm', 'yarn'], ['dlx']],
  ['uv', ['uvx'], []],
  ['uv', ['uv'], ['tool', 'run']],
  ['pipx', ['pipx'], ['run']],
  ['docker', ['docker', 'podman'], ['run']],
  ['docker', ['docker', 'podman'], ['container', 'run']],
]

/** What a command runs of somebody's packages, if it does. */
export function packageRunOf(command: string, args: readonly string[]): PackageRun | undefined {
  for (const line of programLines(command, args)) {
    const run = runIn(line)
    if (run) return run
  }
  return undefined
}

function runIn(line: ProgramLine): PackageRun | undefined {
  const program = programName(line.words[0] ?? '')
  for (const [runner, programs, asked] of RUNNERS) {
    const from = programs.includes(program) ? behind(line.words, asked) : undefined
    if (from !== undefined) return { ...line, runner, program, from }
  }
  return undefined
}

/** The place behind these words, options between them passed over. */
function behind(words: readonly string[], asked: readonly string[]): number | undefined {
  let at = 1
  for (const word of asked) {
    while (words[at]?.startsWith('-')) at++
    if (words[at] !== word) return undefined
    at++
  }
  return at
}
