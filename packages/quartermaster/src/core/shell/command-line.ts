import { parse } from 'shell-quote'

/** A program with its arguments. */
export interface ProgramLine {
  /** From the program on. */
  readonly words: readonly string[]
  /** Where the program stands among the words of the entry; absent for a line of a script. */
  readonly start?: number
}

/** All programs that a command runs: its own, and those of the shell scripts among its arguments, however deep. */
export function programLines(command: string, args: readonly string[]): ProgramLine[] {
  const words = [command, ...args]
  const start = startOf(words)
  const own = { words: words.slice(start), start }
  const script = scriptIndex(words)
  if (script === undefined) return [own]
  const inner = scriptLines(words[script] ?? '').flatMap(([program = '', ...rest]) => programLines(program, rest))
  const lines = inner.map(line => ({ words: line.words }))
  // A shell does nothing but what the script says; another program that starts the shell may do more.
  return start === script || isShell(words[start] ?? '') ? lines : [own, ...lines]
}

/** The program's name without its folder and without the ending that Windows uses. */
export function programName(word: string): string {
  return (word.split(/[\\/]/).at(-1) ?? word).replace(/\.(?:cmd|exe|ps1)$/i, '').toLowerCase()
}

/** Index of the program: behind variables (`env A=1 npx`), and behind programs that run another one (`sudo npx`). */
export function programIn(words: readonly string[]): number {
  let at = 0
  while (at < words.length) {
    const word = words[at] ?? ''
    const prefix = PREFIXES.get(programName(word))
    if (prefix) at = behindPrefix(words, at + 1, prefix)
    else if (word === '--' || /^[A-Za-z_]\w*=/.test(word)) at++
    else return at
  }
  return words.length
}

interface Prefix {
  /** Options that take the next word. */
  readonly withValue: readonly string[]
  /** How many words of its own stand before the program. */
  readonly operands?: number
  /** With one of these it runs nothing. */
  readonly asks?: RegExp
  /** The program may stand behind `--`, whatever is before that. */
  readonly hasDashes?: true
}

function behindPrefix(words: readonly string[], from: number, prefix: Prefix): number {
  const { withValue, operands = 0, asks, hasDashes } = prefix
  const dashes = hasDashes ? words.indexOf('--', from) : -1
  if (dashes >= 0) return dashes + 1
  let at = from
  for (; words[at]?.startsWith('-'); at++) {
    const word = words[at] ?? ''
    if (asks?.test(word)) return words.length
    if (withValue.includes(word)) at++
  }
  return at + operands
}

/** `mise exec -- npx`, `op run --env-file .env -- npx`, `volta run npx` */
const WITH_TOOLS: Prefix = { withValue: [], operands: 1, hasDashes: true }

const TIMEOUT: Prefix = { withValue: ['-k', '--kill-after', '-s', '--signal'], operands: 1 }

/** Programs that run the one that is named next, and words of a shell that stand before one. */
const PREFIXES: ReadonlyMap<string, Prefix> = new Map<string, Prefix>([
  ['env', { withValue: ['-u', '--unset', '-C', '--chdir'] }],
  ['exec', { withValue: ['-a'] }],
  ['sudo', { withValue: ['-u', '--user', '-g', '--group', '-h', '--host', '-p', '--prompt', '-C', '-D', '--chdir'] }],
  ['doas', { withValue: ['-u', '-C'] }],
  ['nice', { withValue: ['-n', '--adjustment'] }],
  ['ionice', { withValue: ['-c', '--class', '-n', '--classdata'] }],
  ['stdbuf', { withValue: ['-i', '--input', '-o', '--output', '-e', '--error'] }],
  ['timeout', TIMEOUT],
  ['gtimeout', TIMEOUT],
  // `command -v npx` only asks whether there is one.
  ['command', { withValue: [], asks: /^-[pvV]*[vV]/ }],
  ['xargs', { withValue: ['-a', '-d', '-E', '-I', '-L', '-n', '-P', '-s'] }],
  ['wsl', { withValue: ['-d', '--distribution', '-u', '--user', '--cd', '--shell-type'] }],
  ...['mise', 'volta', 'op', 'doppler', 'infisical', 'dotenvx'].map(word => [word, WITH_TOOLS] as const),
  ...['if', 'then', 'elif', 'else', 'while', 'until', 'do', '{', '!', 'nohup', 'setsid', 'time'].map(
    word => [word, { withValue: [] }] as const,
  ),
])

/** Index of the first shell script among words, also where another program starts the shell: `docker run debian sh -c "…"`. */
export function scriptIndex(words: readonly string[]): number | undefined {
  for (let i = 0; i < words.length; i++) {
    const at = isShell(words[i] ?? '') ? scriptBehind(words.slice(i)) : undefined
    if (at !== undefined) return i + at
  }
  return undefined
}

/** Index of the script behind `-c`, `-lc` and the like among words that begin with a shell. */
function scriptBehind(words: readonly string[]): number | undefined {
  const last = words.length - 1
  if (programName(words[0] ?? '') === 'cmd') {
    return behindCmd(words) === last && /\s/.test(words[last] ?? '') ? last : undefined
  }
  let hasFlag = false
  for (let i = 1; i < words.length; i++) {
    const word = words[i] ?? ''
    if (!/^[-+]/.test(word)) return hasFlag ? i : undefined
    if (/^-[a-z]*c[a-z]*$/.test(word)) hasFlag = true
    // `-o pipefail`
    else if (/^[-+][a-z]*o$/i.test(word)) i++
  }
  return undefined
}

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'zsh', 'dash', 'ash', 'ksh', 'fish', 'cmd'])

function isShell(word: string): boolean {
  return SHELLS.has(programName(word))
}

function startOf(words: readonly string[]): number {
  const start = programIn(words)
  const own = words.slice(start)
  return start + (programName(own[0] ?? '') === 'cmd' ? (behindCmd(own) ?? 0) : 0)
}

/** On Windows programs like npx are started through the shell: `cmd /d /s /c npx`. */
function behindCmd(words: readonly string[]): number | undefined {
  const first = words.findIndex((word, i) => i > 0 && !/^\/[abd-z]/i.test(word))
  return /^\/c$/i.test(words[first] ?? '') ? first + 1 : undefined
}

/**
 * The commands of a script, each as its words. Variables and backquoted commands come as `${…}`. Good enough to say which
 * programs a script probably runs; nothing is ever replaced in a script by it.
 */
export function scriptLines(script: string): string[][] {
  const lines: string[][] = []
  // Line by line, because shell-quote takes a line break for a blank and a comment for the rest of the text.
  for (const row of script
    .replace(/\\\r?\n/g, ' ')
    .replace(/`[^`]*`/g, '${_}')
    .split(/\r?\n/)) {
    let line: string[] = []
    lines.push(line)
    for (const token of tokensOf(row)) {
      if (typeof token === 'string') line.push(token)
      else if ('pattern' in token) line.push(token.pattern)
      else if ('op' in token && !/[<>]/.test(token.op)) {
        line = []
        lines.push(line)
      }
    }
  }
  return lines.filter(line => line.length > 0)
}

function tokensOf(row: string): ReturnType<typeof parse> {
  try {
    return parse(row, name => `\${${name}}`)
  } catch {
    // shell-quote refuses an unclosed `${`; no shell would run that either.
    return row.split(/\s+/)
  }
}

/**
 * The arguments of a command with every `${…}` of its script that `isOfShell` claims written as `$${…}`, so that the shell
 * gets it. `isOfShell` is given what stands between the braces, or nothing where that holds another `${…}`: only shells have those.
 */
export function withShellVariables(
  command: string,
  args: readonly string[],
  isOfShell: (body: string | undefined) => boolean,
): string[] {
  const script = scriptIndex([command, ...args])
  return args.map((arg, i) =>
    i + 1 === script
      ? arg.replace(BRACED, (whole: string, body: string | undefined) => (isOfShell(body) ? `$${whole}` : whole))
      : arg,
  )
}

/** A reference; behind a second dollar sign it is the shell's already. */
const BRACED = /(?<!\$)\$\{(?:((?:[^{}$]|\$(?!\{))*)\})?/g
