import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
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
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...inherited } = process.env
  return spawn(process.execPath, [BIN, ...args], {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** Runs one command to its end. */
export function quartermaster(args: readonly string[], options: RunOptions): Promise<Finished> {
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
