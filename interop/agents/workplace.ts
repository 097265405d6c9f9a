import { type ExecFileException, execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Where an agent's program lives for one test: a home, a search path and a working folder of its own. */
export interface Workplace {
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  /** Runs a command line as a person would type it. */
  type(line: string): Promise<{ code: number; output: string }>
  /** The same place, with more variables. */
  with(more: Readonly<Record<string, string>>): Workplace
  clear(): Promise<void>
}

export interface WorkplaceOptions {
  /** The commands that are there, each with the program it starts. */
  readonly commands: Readonly<Record<string, readonly string[]>>
  /** Made from the home folder. */
  environment(home: string): Record<string, string>
}

/** Nothing of the surroundings reaches the program: settings and credentials of whoever runs the tests least of all. */
export async function makeWorkplace({ commands, environment }: WorkplaceOptions): Promise<Workplace> {
  const home = await mkdtemp(join(tmpdir(), 'agent-home-'))
  const bin = join(home, 'bin')
  await mkdir(bin)
  for (const [name, program] of Object.entries(commands)) await writeCommand(join(bin, name), program)
  const PATH = [bin, process.env.PATH ?? ''].join(delimiter)
  return placeAt(home, { PATH, HOME: home, NO_PROXY: '127.0.0.1,localhost', ...environment(home) })
}

function placeAt(home: string, env: Readonly<Record<string, string>>): Workplace {
  return {
    home,
    env,
    type: line => runShell(line, { cwd: home, env }),
    with: more => placeAt(home, { ...env, ...more }),
    clear: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  }
}

async function writeCommand(file: string, program: readonly string[]): Promise<void> {
  await writeFile(file, `#!/bin/sh\nexec ${program.map(word => `'${word}'`).join(' ')} "$@"\n`)
  await chmod(file, 0o755)
}

interface ShellOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

function runShell(line: string, options: ShellOptions): Promise<{ code: number; output: string }> {
  return new Promise(resolve => {
    const done = (error: ExecFileException | null, stdout: string, stderr: string) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, output: stdout + stderr })
    const child = execFile('/bin/sh', ['-c', line], { ...options, maxBuffer: 64 * 1024 * 1024 }, done)
    // An agent that may read its input waits for it to end.
    child.stdin?.end()
  })
}
