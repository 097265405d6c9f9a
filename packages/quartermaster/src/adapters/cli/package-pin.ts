/** A package that a command runs in whatever version there is at the time. */
export interface Unpinned {
  readonly runner: 'npx' | 'uvx' | 'docker'
  /** Without a version. */
  readonly package: string
  /** The argument it stands in. */
  readonly index: number
}

/** The package that a command would run without a version of its own, if it does. */
export function findUnpinned(command: string, args: readonly string[]): Unpinned | undefined {
  const words = [command, ...args]
  // On Windows programs like npx are started through the shell.
  const start = /^cmd(?:\.exe)?$/i.test(command) && /^\/c$/i.test(args[0] ?? '') ? 2 : 0
  const [first = '', second] = words.slice(start).map((word, i) => (i === 0 ? programName(word) : word))
  if (['npx', 'bunx', 'pnpx'].includes(first)) return unpinnedNpm(words, start + 1)
  if (['pnpm', 'yarn'].includes(first) && second === 'dlx') return unpinnedNpm(words, start + 2)
  if (first === 'uvx') return unpinnedPython(words, start + 1)
  if (first === 'uv' && second === 'tool' && words[start + 2] === 'run') return unpinnedPython(words, start + 3)
  return ['docker', 'podman'].includes(first) && second === 'run' ? unpinnedImage(words, start + 2) : undefined
}

/** The arguments with the version put to the package. */
export function pinnedArgs(args: readonly string[], { package: name, index }: Unpinned, version: string): string[] {
  const put = (word: string) => `${word.startsWith('--package=') ? '--package=' : ''}${name}@${version}`
  return args.map((word, i) => (i === index ? put(word) : word))
}

/** What to tell whoever adds such a command. */
export function unpinnedWarning({ runner, package: name }: Unpinned): string {
  const how = {
    npx: `${name}@VERSION, or --pin for the present one`,
    uvx: `${name}@VERSION`,
    docker: `${name}:TAG or ${name}@sha256:…`,
  }
  return `"${name}" has no version, so every start may run another program than the one you looked at. Write ${how[runner]}.`
}

function programName(word: string): string {
  return (word.split(/[\\/]/).at(-1) ?? word).replace(/\.(?:cmd|exe|ps1)$/i, '').toLowerCase()
}

/** The first word from a place on that is no option, and its place. `withValue` are the options that take the next word. */
function firstOperand(words: readonly string[], from: number, withValue: readonly string[]): number | undefined {
  for (let i = from; i < words.length; i++) {
    const word = words[i] ?? ''
    if (!word.startsWith('-')) return i
    if (withValue.includes(word)) i++
  }
  return undefined
}

function unpinnedNpm(words: readonly string[], from: number): Unpinned | undefined {
  const named = words.findIndex((word, i) => i >= from && /^(?:-p|--package)$/.test(word))
  const assigned = words.findIndex((word, i) => i >= from && word.startsWith('--package='))
  const operand = firstOperand(words, from, ['-p', '--package', '-c', '--call', '-w', '--workspace'])
  const at = named >= 0 ? named + 1 : assigned >= 0 ? assigned : operand
  const [, name, version] = /^(?:--package=)?((?:@[\w.~-]+\/)?[\w.~-]+)(?:@(.+))?$/.exec(words[at ?? -1] ?? '') ?? []
  // Folders, archives and repositories are no packages of a registry.
  if (at === undefined || name === undefined || /^\.|\.(?:tgz|js|mjs)$/.test(name)) return undefined
  return version === undefined || isMoving(version) ? { runner: 'npx', package: name, index: at - 1 } : undefined
}

function isMoving(version: string): boolean {
  return !/^\d+\.\d+\.\d+/.test(version)
}

function unpinnedPython(words: readonly string[], from: number): Unpinned | undefined {
  const named = words.findIndex((word, i) => i >= from && word === '--from')
  const at =
    named >= 0 ? named + 1 : firstOperand(words, from, ['--with', '--python', '-p', '--index-url', '--refresh-package'])
  const [, name, version] = /^([\w.-]+(?:\[[\w,-]*\])?)(?:(?:==|@)(.+))?$/.exec(words[at ?? -1] ?? '') ?? []
  if (at === undefined || name === undefined || name.startsWith('.')) return undefined
  return version === undefined || version === 'latest' ? { runner: 'uvx', package: name, index: at - 1 } : undefined
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

function unpinnedImage(words: readonly string[], from: number): Unpinned | undefined {
  const at = firstOperand(words, from, IMAGE_OPTIONS)
  const [, name, tag] = /^((?:[^/]+\/)*[^/:@]+)(?:[:@](.+))?$/.exec(words[at ?? -1] ?? '') ?? []
  if (at === undefined || name === undefined) return undefined
  return tag === undefined || tag === 'latest' ? { runner: 'docker', package: name, index: at - 1 } : undefined
}
