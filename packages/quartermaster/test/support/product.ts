import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { runCli } from '../../src/adapters/cli/index.ts'
import { connectToOwner } from '../../src/adapters/data-folder/index.ts'
import { silentLog } from '../../src/adapters/system/index.ts'
import { createHost } from '../../src/app/main.ts'
import { tempProject } from '../../src/testing/temp-project.ts'

/** The built command line: these tests drive what users run. */
export const BIN = fileURLToPath(new URL('../../dist/bin/quartermaster.js', import.meta.url))

/** A project folder of its own, removed when the test is over. */
export async function makeProject(files: Record<string, string> = {}): Promise<string> {
  return (await tempProject({ 'quartermaster.config.json': '{}', ...files })).dir
}

export async function writeFiles(dir: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), text)
  }
}

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Standard output as JSON. */
  json<T = Record<string, unknown>>(): T
}

interface RunOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  readonly input?: string
}

/** Starts one command and leaves it to you. */
export function startProcess(args: readonly string[], { cwd, env = {} }: RunOptions): ChildProcess {
  return spawn(process.execPath, [BIN, ...args], {
    cwd,
    env: { ...inheritedEnv(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function inheritedEnv(): NodeJS.ProcessEnv {
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...inherited } = process.env
  return inherited
}

/**
 * Runs one command to its end. Where an `up` answers it, a command is little more than its question: it is asked from here
 * then, by the same code, because to start a process for each is half of the time of these tests.
 */
export async function quartermaster(args: readonly string[], options: RunOptions): Promise<Finished> {
  const isAnswered = !PROCESSES.has(args[0] ?? '') && !args.includes('--data') && !args.includes('--config')
  const owner = isAnswered ? await connectToOwner({ dir: join(options.cwd, '.quartermaster') }) : undefined
  return owner ? runHere(args, options) : runProcess(args, options)
}

/** What is a process of its own for as long as it runs, or is there before an `up`. */
const PROCESSES = new Set(['', 'up', 'connect', 'init', 'login', 'store', '--version', '--help'])

async function runHere(args: readonly string[], { cwd, env = {}, input = '' }: RunOptions): Promise<Finished> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  stdin.end(input)
  const written = Promise.all([text(stdout), text(stderr)])
  const own = { stdin, stdout, stderr, cwd, env: { ...inheritedEnv(), ...env }, interrupt: () => {} }
  const code = await runCli(args, createHost(own, new AbortController().signal, { log: silentLog }))
  stdout.end()
  stderr.end()
  const [out, err] = await written
  return { code, stdout: out, stderr: err, json: () => JSON.parse(out) }
}

/** Runs one command to its end as a process, as users do. */
export function runProcess(args: readonly string[], options: RunOptions): Promise<Finished> {
  const child = startProcess(args, options)
  child.stdin?.end(options.input ?? '')
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', data => (stdout += String(data)))
  child.stderr?.on('data', data => (stderr += String(data)))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, stdout, stderr, json: () => JSON.parse(stdout) }))
  })
}

export interface RunningUp {
  readonly url: string
  /** The object on its first line. */
  readonly facts: Record<string, unknown>
  readonly child: ChildProcess
  /** What it has written to standard error so far. */
  stderr(): string
  /** Ends it politely and answers its exit code. */
  stop(): Promise<number | null>
}

/** Starts `up` on a free port and waits for its first line. It ends with the test. */
export async function startUp(
  cwd: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<RunningUp> {
  return launchUp(cwd, { args, env, onStarted: child => onTestFinished(() => void child.kill('SIGKILL')) })
}

export interface LaunchOptions {
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  /** Told before the first line is there, so that a process that never gets so far is ended as well. */
  onStarted?(child: ChildProcess): void
}

/** The same for whoever lives longer than a test and ends it himself. */
export async function launchUp(cwd: string, { args = [], env = {}, onStarted }: LaunchOptions): Promise<RunningUp> {
  const child = startProcess(['up', '--port', '0', '--json', ...args], { cwd, env })
  let stderr = ''
  child.stderr?.on('data', data => (stderr += String(data)))
  const exited = new Promise<number | null>(resolve => child.once('exit', resolve))
  onStarted?.(child)
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const first = await Promise.race([
    new Promise<string>(resolve => lines.once('line', resolve)),
    exited.then(code => {
      throw new Error(`up ended with ${code}: ${stderr}`)
    }),
  ])
  const facts = JSON.parse(first) as Record<string, unknown>
  return {
    url: String(facts.url),
    facts,
    child,
    stderr: () => stderr,
    stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}
