import { shellCommands } from './shell-commands.ts'

/** A program by its name alone: without its folder, and without what Windows puts behind it. */
export function programName(word: string): string {
  return (word.split(/[\\/]/).at(-1) ?? word).replace(/\.(?:cmd|exe|ps1)$/i, '').toLowerCase()
}

/** Where the program stands: behind variables, and behind programs that run the one that is named next. */
export function programIn(words: readonly string[]): number {
  let isBehindPrefix = false
  for (const [index, word] of words.entries()) {
    const isPrefix = PREFIXES.has(programName(word))
    isBehindPrefix ||= isPrefix
    if (!isPrefix && !/^[A-Za-z_]\w*=/.test(word) && !(isBehindPrefix && word.startsWith('-'))) return index
  }
  return words.length
}

const PREFIXES: ReadonlySet<string> = new Set(['env', 'exec', 'sudo', 'nohup', 'nice', 'time', 'command', 'setsid'])

/** The script that a shell is given: what stands behind `-c`, `-lc` and the like. Nothing for other programs. */
export function scriptIn(program: string, args: readonly string[]): string | undefined {
  if (!SHELLS.has(programName(program))) return undefined
  let hasFlag = false
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (!/^[-+]/.test(arg)) return hasFlag ? arg : undefined
    if (/^-[a-z]*c[a-z]*$/.test(arg)) hasFlag = true
    // `-o pipefail`
    else if (/^[-+][a-z]*o$/i.test(arg)) i++
  }
  return undefined
}

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'zsh', 'dash', 'ash', 'ksh', 'fish'])

/** One program with its arguments. */
export interface ProgramLine {
  /** From the program on. */
  readonly words: readonly string[]
  /** Where these begin in the command as it is written; nothing where they stand in a script. */
  readonly start: number | undefined
}

/** What a command runs: its program, or all programs of the script that a shell is given. */
export function programLines(command: string, args: readonly string[]): ProgramLine[] {
  const written = [command, ...args]
  // On Windows programs like npx are started through the shell.
  const isCmd = programName(command) === 'cmd' && /^\/c$/i.test(args[0] ?? '')
  const start = isCmd ? 2 : programIn(written)
  const words = written.slice(start)
  const script = scriptIn(words[0] ?? '', words.slice(1))
  if (script === undefined) return [{ words, start }]
  return [...shellCommands(script, () => undefined)].map(line => ({
    words: line.slice(programIn(line)),
    start: undefined,
  }))
}
