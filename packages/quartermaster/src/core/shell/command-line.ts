import { range, type Script, type ScriptWord, scriptWords } from './script.ts'

/** A program by its name alone: without its folder, and without what Windows puts behind it. */
export function programName(word: string): string {
  return (word.split(/[\\/]/).at(-1) ?? word).replace(/\.(?:cmd|exe|ps1)$/i, '').toLowerCase()
}

/** Where the program stands: behind variables, and behind programs that run the one that is named next. */
export function programIn(words: readonly string[]): number {
  let at = 0
  while (at < words.length) {
    const word = words[at] ?? ''
    // The only word behind it is a script.
    if (word === 'eval' && at === words.length - 2) return at
    const prefix = PREFIXES.get(programName(word))
    if (prefix) at = behindPrefix(words, at + 1, prefix)
    else if (word === '--' || /^[A-Za-z_]\w*=/.test(word)) at++
    else if (ANSWER.test(word) && at < words.length - 1) at++
    else return at
  }
  return words.length
}

/** All of it is what a command answers, which may be variables: `env $(cat .env) npx`. */
const ANSWER = /^(?:\$\([^]*\)|`[^`]*`)$/

interface Prefix {
  /** Options that take the next word. */
  readonly withValue: readonly string[]
  /** Words of its own before the program. */
  readonly operands?: number
  /** With these it runs nothing. */
  readonly asks?: RegExp
  /** What it runs may stand behind `--`, whatever is before that. */
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
  ['nohup', { withValue: [] }],
  ['nice', { withValue: ['-n', '--adjustment'] }],
  ['ionice', { withValue: ['-c', '--class', '-n', '--classdata'] }],
  ['stdbuf', { withValue: ['-i', '--input', '-o', '--output', '-e', '--error'] }],
  ['time', { withValue: ['-f', '--format', '-o', '--output'] }],
  ['timeout', TIMEOUT],
  ['gtimeout', TIMEOUT],
  // `command -v npx` only asks whether there is one.
  ['command', { withValue: [], asks: /^-[pvV]*[vV]/ }],
  ['setsid', { withValue: [] }],
  ['eval', { withValue: [] }],
  ['coproc', { withValue: [] }],
  ['xargs', { withValue: ['-a', '-d', '-E', '-I', '-L', '-n', '-P', '-s'] }],
  ['wsl', { withValue: ['-d', '--distribution', '-u', '--user', '--cd', '--shell-type'] }],
  ...['mise', 'volta', 'op', 'doppler', 'infisical', 'dotenvx'].map(word => [word, WITH_TOOLS] as const),
  ['function', { withValue: [], operands: 1 }],
  ...['if', 'then', 'elif', 'else', 'while', 'until', 'do', '{', '!'].map(word => [word, { withValue: [] }] as const),
])

/** The script that a shell is given: what stands behind `-c`, `-lc` and the like. Nothing for other programs. */
export function scriptIn(program: string, args: readonly string[]): string | undefined {
  const at = scriptBehind([program, ...args])
  return at === undefined ? undefined : args[at - 1]
}

/** Where that stands among words that begin with a shell. */
function scriptBehind([program = '', ...args]: readonly string[]): number | undefined {
  if (program === 'eval') return args.length === 1 ? 1 : undefined
  // `trap "npx bye" EXIT`
  if (program === 'trap') return args.length > 1 ? 1 : undefined
  const caller = CALLERS.get(programName(program))
  if (caller) return callIn(args, caller)
  if (!SHELLS.has(programName(program))) return undefined
  let hasFlag = false
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (!/^[-+]/.test(arg)) return hasFlag ? i + 1 : undefined
    if (/^-[a-z]*c[a-z]*$/.test(arg)) hasFlag = true
    // `-o pipefail`
    else if (/^[-+][a-z]*o$/i.test(arg)) i++
  }
  return undefined
}

/** Programs that hand a text to a shell themselves, and the words that may stand before it: behind others it is for what they run. */
const CALLERS: ReadonlyMap<string, RegExp> = new Map([
  ['npx', /^-/],
  ['npm', /^(?:-.*|exec|x)$/s],
  ['su', /^/],
])

/** `npx -p pkg -c "…"`, `npm exec -c "…"`, `su me -c "…"` */
function callIn(args: readonly string[], before: RegExp): number | undefined {
  const at = args.findIndex(word => /^(?:-c|--call|--command)$/.test(word))
  const isOwn = args.slice(0, at).every((word, i) => before.test(word) || /^(?:-p|--package)$/.test(args[i - 1] ?? ''))
  return at >= 0 && at + 1 < args.length && isOwn ? at + 2 : undefined
}

/** A script, and which of the words it is. */
interface ScriptPlace extends Script {
  readonly at: number
}

/** The first script among words, also of a shell that another program starts: `docker run debian sh -c "…"`. */
export function firstScript(words: readonly string[]): ScriptPlace | undefined {
  const start = programIn(words)
  for (let i = 0; i < words.length; i++) {
    const place = i === start || isShell(words[i] ?? '') ? scriptAt(words.slice(i)) : undefined
    if (place) return { ...place, at: i + place.at }
  }
  return undefined
}

/** What is behind `cmd /c` may be one word, as behind `sh -c`. */
function scriptAt(words: readonly string[]): ScriptPlace | undefined {
  const last = words.at(-1) ?? ''
  if (behindCmd(words) === words.length - 1 && /\s/.test(last))
    return { at: words.length - 1, shell: 'cmd', text: last }
  const at = scriptBehind(words)
  return at === undefined ? undefined : { at, shell: 'sh', text: words[at] ?? '' }
}

function isShell(word: string): boolean {
  const name = programName(word)
  return name === 'cmd' || SHELLS.has(name)
}

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'zsh', 'dash', 'ash', 'ksh', 'fish'])

/** A word, and where it stands in a command as that is written. */
export interface PlacedWord extends ScriptWord {
  /** Which word of the command it stands in; the program is the first. */
  readonly at: number
}

/** One program with its arguments. */
export interface ProgramLine {
  /** From the program on. */
  readonly words: readonly string[]
  /** Where each of them stands. */
  readonly placed: readonly PlacedWord[]
}

/** All programs that a command runs: its own, and those of the scripts that shells are given in it, however deep. */
export function programLines(command: string, args: readonly string[]): ProgramLine[] {
  return linesOf([command, ...args].map((text, at) => ({ text, at, places: range(0, text.length) })))
}

function linesOf(placed: readonly PlacedWord[]): ProgramLine[] {
  const words = placed.map(({ text }) => text)
  const start = startOf(words)
  const own = { words: words.slice(start), placed: placed.slice(start) }
  const script = firstScript(words)
  const outer = script && placed[script.at]
  if (!outer) return [own]
  const inner = scriptWords(script).flatMap(line => linesOf(line.map(word => placedIn(outer, word))))
  // A shell itself does nothing but what the script says; another program, which starts it, may.
  return start === script.at || isShell(words[start] ?? '') ? inner : [own, ...inner]
}

function placedIn({ at, places }: PlacedWord, word: ScriptWord): PlacedWord {
  return { text: word.text, at, places: word.places.map(place => places[place] ?? 0) }
}

function startOf(words: readonly string[]): number {
  const start = programIn(words)
  return start + (behindCmd(words.slice(start)) ?? 0)
}

/** On Windows programs like npx are started through the shell: `cmd /d /s /c npx`. */
function behindCmd(words: readonly string[]): number | undefined {
  if (!isCmd(words)) return undefined
  const first = words.findIndex((word, i) => i > 0 && !/^\/[abd-z]/i.test(word))
  return /^\/c$/i.test(words[first] ?? '') ? first + 1 : undefined
}

function isCmd(words: readonly string[]): boolean {
  return programName(words[0] ?? '') === 'cmd'
}

/**
 * The arguments of a command with every `${…}` that the shell of a script among them is to fill in written as `$${…}`, so that
 * it gets there. What stands in it is given to decide by; nothing where there is another one in it, as only shells have it.
 */
export function withShellVariables(
  command: string,
  args: readonly string[],
  isOfShell: (body: string | undefined) => boolean,
): string[] {
  const script = firstScript([command, ...args])
  return args.map((arg, i) =>
    i + 1 === script?.at
      ? arg.replace(BRACED, (whole: string, body: string | undefined) => (isOfShell(body) ? `$${whole}` : whole))
      : arg,
  )
}

/** One behind a second dollar sign is the shell's already. */
const BRACED = /(?<!\$)\$\{(?:((?:[^{}$]|\$(?!\{))*)\})?/g
