import { spawn } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Fence, fencesOf, type Page, ROOT } from './pages.ts'

// What a page shows as `console` is run as it stands, by a real shell with the built program, in a folder of its own:
//   in=FOLDER    begins in a copy of that folder; in=. in a clone that is installed and built
//   eventually   is repeated until it is so, for what comes by itself
//   terminal=2   keeps running beside the blocks that follow; what it prints first, as of an installation, may be left out
// A block with write=FILE is written there, as the reader would.
// The id of an operation is another one in every run: what a page calls it stands for the one that was printed there.

/** What one command printed, and what the page says it prints; both without times, ports and folders, with the page's ids. */
export interface Step {
  readonly command: string
  readonly printed: string
  readonly shown: string
}

/** Runs everything on a page. */
export async function runPage(page: Page): Promise<Step[]> {
  const shell = await openShell()
  const steps: Step[] = []
  try {
    for (const fence of fencesOf(page)) {
      if (fence.marks.in === '.') await makeClone(shell.dir)
      else if (fence.marks.in !== undefined) await copy(fence.marks.in, shell.dir)
      if (fence.marks.write !== undefined) await write(join(shell.dir, fence.marks.write), fence.text)
      if (fence.language === 'console') steps.push(...(await runBlock(fence, shell)))
    }
  } finally {
    await shell.close()
  }
  return steps
}

/** What commands at the root of a clone look at. */
const CLONED = ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.base.json', 'scripts', 'examples/hello']

async function makeClone(dir: string): Promise<void> {
  for (const name of CLONED) await copy(name, join(dir, name))
  for (const name of ['node_modules', 'packages']) await symlink(join(ROOT, name), join(dir, name))
}

function copy(name: string, to: string): Promise<void> {
  return cp(join(ROOT, name), to, { recursive: true, filter: isSource })
}

/** What a person left behind in an example is not part of it. */
function isSource(path: string): boolean {
  return !/[\\/](\.quartermaster|weather\.json)$/.test(path)
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

async function runBlock(fence: Fence, shell: Shell): Promise<Step[]> {
  const steps: Step[] = []
  for (const [command = '', ...shown] of commandsIn(fence.text)) {
    const { ids } = shell
    const expected = shell.bare(shown.join('\n'))
    const isDone = (printed: string) => ids.onPage(shell.bare(printed), expected) === expected
    const printed = await (fence.marks.terminal !== undefined
      ? shell.start(command, text => shell.bare(text).includes(expected))
      : shell.run(ids.inShell(command), 'eventually' in fence.marks ? isDone : () => true))
    const bare = ids.onPage(shell.bare(printed), expected)
    ids.learn(shell.bare(printed), expected)
    steps.push({
      command,
      printed: fence.marks.terminal !== undefined && bare.includes(expected) ? expected : bare,
      shown: expected,
    })
  }
  return steps
}

/** The commands of a block, each with the lines below it. */
function commandsIn(text: string): string[][] {
  const parts = text.split(/^\$ /m).slice(1)
  return parts.map(part => part.trimEnd().split('\n'))
}

/** What a page calls operations, and what they are called in this run. */
interface Ids {
  /** What was printed, with the ids that the page has for the operations. */
  onPage(printed: string, shown: string): string
  /** A command of the page, with the ids of this run. */
  inShell(command: string): string
  /** Takes note of the operations that were printed for the first time. */
  learn(printed: string, shown: string): void
}

const ID = /\bop_[\w-]{24}/g

function createIds(): Ids {
  const known = new Map<string, string>()

  /** New ones stand for each other in the order in which they come. */
  function withNew(printed: string, shown: string): Map<string, string> {
    const fresh = idsIn(printed).filter(id => !known.has(id))
    const named = idsIn(shown).filter(id => ![...known.values()].includes(id))
    const pairs = fresh.flatMap((id, index) => (named[index] === undefined ? [] : [[id, named[index]] as const]))
    return new Map([...known, ...pairs])
  }

  return {
    onPage(printed, shown) {
      const names = withNew(printed, shown)
      return printed.replaceAll(ID, id => names.get(id) ?? id)
    },
    inShell(command) {
      const ids = new Map([...known].map(([id, name]) => [name, id]))
      return command.replaceAll(ID, name => ids.get(name) ?? name)
    },
    learn(printed, shown) {
      for (const [id, name] of withNew(printed, shown)) known.set(id, name)
    },
  }
}

function idsIn(text: string): string[] {
  return [...new Set(text.match(ID) ?? [])]
}

interface Shell {
  readonly dir: string
  readonly ids: Ids
  /** Runs a command until it prints what is wanted; answers what it printed last. */
  run(command: string, isDone: (printed: string) => boolean): Promise<string>
  /** Starts a command that goes on, and waits until it printed what is wanted. */
  start(command: string, isDone: (printed: string) => boolean): Promise<string>
  /** A text without what differs from run to run. */
  bare(text: string): string
  close(): Promise<void>
}

/** What comes by itself takes seconds, and many times that where each of them is a stall. */
const PATIENCE_MS = 120_000
/** To start the program again and again takes from what it waits for. */
const AGAIN_MS = 1_000
const PROGRAM = join(ROOT, 'packages', 'quartermaster', 'dist', 'bin', 'quartermaster.js')

async function openShell(): Promise<Shell> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'docs-')))
  const dir = join(base, 'project')
  const bin = join(base, 'bin', 'quartermaster')
  await mkdir(dir)
  await write(bin, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`)
  await chmod(bin, 0o755)
  const PATH = `${dirname(bin)}${delimiter}${process.env.PATH}`
  const stops: (() => Promise<void>)[] = []

  function launch(command: string) {
    // One stream for both, as on a terminal.
    const child = spawn('/bin/sh', ['-c', `exec 2>&1\n${command}`], {
      cwd: dir,
      env: { ...process.env, PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      printed += text
    })
    const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
    return { printed: () => printed, ended, stop: () => (child.kill('SIGTERM'), ended) }
  }

  return {
    dir,
    ids: createIds(),
    bare: text => withoutChance(text, dir),
    async run(command, isDone) {
      for (const end = Date.now() + PATIENCE_MS; ; await wait(AGAIN_MS)) {
        const running = launch(command)
        await running.ended
        if (isDone(running.printed()) || Date.now() > end) return running.printed()
      }
    },
    async start(command, isDone) {
      // Another program may have the usual port.
      const program = command.replace('npm start', 'node scripts/start.mjs')
      const running = launch(`exec ${program} --port 0`)
      stops.push(running.stop)
      for (const end = Date.now() + PATIENCE_MS; !isDone(running.printed()) && Date.now() < end; ) await wait(20)
      return running.printed()
    },
    async close() {
      await Promise.all(stops.map(stop => stop()))
      await rm(base, { recursive: true, force: true })
    },
  }
}

function withoutChance(text: string, dir: string): string {
  return (
    text
      .replaceAll(dir, '…')
      .replace(/less than a second|\b\d+ (seconds?|minutes?|hours?)\b/g, 'a while')
      .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'DATE')
      .replace(/\b\d+ ms\b/g, 'some ms')
      // On a busy machine `up` begins with what it has read within a second, and has one more with the rest.
      .replace(/\bGeneration \d+/g, 'Generation N')
      .replace(/(127\.0\.0\.1):\d+/g, '$1:PORT')
      .replace(/^\d\d:\d\d:\d\d /gm, 'TIME ')
      .replace(/[ \t]+$/gm, '')
      // Columns are as wide as what was just replaced.
      .replace(/ {2,}/g, '  ')
      .trimEnd()
  )
}
