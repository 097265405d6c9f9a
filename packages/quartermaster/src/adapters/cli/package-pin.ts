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
  const found = run && FINDERS[run.runner](run.words, run.from)
  if (!found) return undefined
  const { runner, program, words, start } = run
  // The command itself is none of the arguments.
  const index = start === undefined ? undefined : start + found.at - 1
  return { runner, program, package: found.name, word: words[found.at] ?? '', index }
}

/** The arguments with the version put to the package. */
export function pinnedArgs(args: readonly string[], unpinned: Unpinned, version: string): string[] {
  const { package: name, word, index } = unpinned
  const pinned = `${word.startsWith('--package=') ? '--package=' : ''}${name}@${version}`
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
    docker: `${name}:TAG or ${name}@sha256:…`,
  } as const satisfies Record<PackageRun['runner'], string>
  return `"${name}" has no version, so every start may run another program than the one you looked at. Write ${how[runner]}.`
}

/** A package without a version, and the word it stands in. */
interface Found {
  readonly name: string
  readonly at: number
}

type Finder = (words: readonly string[], from: number) => Found | undefined

/** The first word from a place on that is no option, and its place. `withValue` are the options that take the next word. */
function firstOperand(words: readonly string[], from: number, withValue: readonly string[]): number | undefined {
  for (let i = from; i < words.length; i++) {
    const word = words[i] ?? ''
    if (!word.startsWith('-')) return i
    if (withValue.includes(word)) i++
  }
  return undefined
}

function unpinnedNpm(words: readonly string[], from: number): Found | undefined {
  const named = words.findIndex((word, i) => i >= from && /^(?:-p|--package)$/.test(word))
  const assigned = words.findIndex((word, i) => i >= from && word.startsWith('--package='))
  const operand = firstOperand(words, from, ['-p', '--package', '-c', '--call', '-w', '--workspace'])
  const at = named >= 0 ? named + 1 : assigned >= 0 ? assigned : operand
  const [, name, version] = /^(?:--package=)?((?:@[\w.~-]+\/)?[\w.~-]+)(?:@(.+))?$/.exec(words[at ?? -1] ?? '') ?? []
  // Folders, archives and repositories are no packages of a registry.
  if (at === undefined || name === undefined || /^\.|\.(?:tgz|js|mjs)$/.test(name)) return undefined
  return version === undefined || isMoving(version) ? { name, at } : undefined
}

function isMoving(version: string): boolean {
  return !/^\d+\.\d+\.\d+/.test(version)
}

const PYTHON_OPTIONS = ['--with', '--python', '-p', '--index-url', '-i', '--refresh-package', '--pip-args', '--suffix']

function unpinnedPython(words: readonly string[], from: number): Found | undefined {
  const named = words.findIndex((word, i) => i >= from && /^--(?:from|spec)$/.test(word))
  const at = named >= 0 ? named + 1 : firstOperand(words, from, PYTHON_OPTIONS)
  const [, name, version] = /^([\w.-]+(?:\[[\w,-]*\])?)(?:(?:==|@)(.+))?$/.exec(words[at ?? -1] ?? '') ?? []
  if (at === undefined || name === undefined || name.startsWith('.')) return undefined
  return version === undefined || version === 'latest' ? { name, at } : undefined
}

const IMAGE_OPTIONS = [
  ...[
    '-e',
    '--env',
    '--env-file',
    '-v',
    '--volume',
    '--mount',
    '--name',
    '--network',
    '--net',
    '-p',
    '--publish',
    '-w',
  ],
  ...[
    '--workdir',
    '-u',
    '--user',
    '--entrypoint',
    '-l',
    '--label',
    '--platform',
    '--add-host',
    '-m',
    '--memory',
    '--cpus',
  ],
  ...[
    '--gpus',
    '--pull',
    '-h',
    '--hostname',
    '--tmpfs',
    '--cap-add',
    '--cap-drop',
    '--security-opt',
    '--device',
    '--dns',
  ],
]

function unpinnedImage(words: readonly string[], from: number): Found | undefined {
  const at = firstOperand(words, from, IMAGE_OPTIONS)
  const [, name, tag] = /^((?:[^/]+\/)*[^/:@]+)(?:[:@](.+))?$/.exec(words[at ?? -1] ?? '') ?? []
  if (at === undefined || name === undefined) return undefined
  return tag === undefined || tag === 'latest' ? { name, at } : undefined
}

const FINDERS = {
  npm: unpinnedNpm,
  uv: unpinnedPython,
  pipx: unpinnedPython,
  docker: unpinnedImage,
} as const satisfies Record<PackageRun['runner'], Finder>
