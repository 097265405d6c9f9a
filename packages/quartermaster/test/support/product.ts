import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type CliHost, runCli } from '../../src/adapters/cli/index.ts'
import { createBuiltinSource } from '../../src/adapters/modules/index.ts'
import { silentLog } from '../../src/adapters/system/index.ts'
import { createHost } from '../../src/app/main.ts'
import { CAPABILITIES_DIR } from '../../src/app/package-info.ts'
import { memoize } from '../../src/core/kernel/index.ts'
import { onEnd } from '../../src/testing/shared-fixture.ts'
import { tempProject } from '../../src/testing/temp-project.ts'

/** The built command line: these tests drive what users run. */
export const BIN = fileURLToPath(new URL('../../dist/bin/quartermaster.js', import.meta.url))

/** A project folder of its own, removed when the test is over. */
export async function makeProject(files: Record<string, string> = {}): Promise<string> {
  return (await tempProject({ 'quartermaster.config.json': '{}', ...files })).dir
}

export async function writeFiles(dir: string, files: Record<string, string | Uint8Array>): Promise<void> {
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
  /** What Ctrl-C does, of a command that is run from here. */
  readonly signal?: AbortSignal
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
  // What a test leaves running is not waited for.
  return { ...inherited, QUARTERMASTER_DRAIN_SECONDS: '0' }
}

/**
 * Runs one command to its end, from here and by the same code as the process that users start: to load that code for each is
 * most of the time of these tests.
 */
export function quartermaster(args: readonly string[], options: RunOptions): Promise<Finished> {
  return PROCESSES.has(args[0] ?? '') ? runProcess(args, options) : runHere(args, options)
}

/** What is a process of its own for as long as it runs, is about its start, or reads the home of its user. */
const PROCESSES = new Set(['', 'up', 'connect', 'import', 'init', 'login', 'store', '--version', '--help'])

/** Runs one command to its end from here, for a person at a terminal who answers its questions in turn. */
export function atTerminal(
  args: readonly string[],
  { answers, ...options }: RunOptions & { readonly answers: readonly string[] },
): Promise<Finished> {
  const left = [...answers]
  return runHere(args, options, ({ io, ...host }) => ({
    ...host,
    io: {
      ...io,
      stderr: { ...io.stderr, isTTY: true },
      stdin: { ...io.stdin, isTTY: true, question: async () => left.shift() ?? '' },
    },
  }))
}

async function runHere(
  args: readonly string[],
  options: RunOptions,
  withPerson = (host: CliHost) => host,
): Promise<Finished> {
  const own = isolated(options)
  own.stdin.end(options.input ?? '')
  const written = Promise.all([text(own.stdout), text(own.stderr)])
  const host = createHost(own, options.signal ?? new AbortController().signal, { log: silentLog })
  const code = await runCli(args, withPerson(host))
  own.stdout.end()
  own.stderr.end()
  const [stdout, stderr] = await written
  return { code, stdout, stderr, json: () => JSON.parse(stdout) }
}

/** What a command takes for its process. */
function isolated({ cwd, env = {} }: RunOptions) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  return { stdin, stdout, stderr, cwd, env: { ...inheritedEnv(), ...env }, interrupt: () => {}, isWhole: false }
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
  /** What it has written to standard error so far. */
  stderr(): string
  /** Ends it politely and answers its exit code. */
  stop(): Promise<number | null>
}

export interface UpProcess extends RunningUp {
  readonly child: ChildProcess
  /** Ends it in the middle of everything, and resolves when it is gone. */
  kill(): Promise<void>
}

/**
 * Starts `up` on a free port, from here and by the same code, and waits for its first line. It ends with the test.
 * What is killed, weighed, or runs code that may fail on its own needs `startUpProcess`.
 */
export async function startUp(
  cwd: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<RunningUp> {
  return openUp(cwd, { args, env, onStarted: onEnd })
}

export interface OpenUpOptions {
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  /** Told before the first line is there. */
  onStarted?(stop: RunningUp['stop']): void
}

/** The same for several tests; the caller ends it. */
export async function openUp(cwd: string, { args = [], env = {}, onStarted }: OpenUpOptions = {}): Promise<RunningUp> {
  await builtinsLoaded()
  const own = isolated({ cwd, env })
  const stopping = new AbortController()
  const stderr = collected(own.stderr)
  const ended = runCli(upArgs(args), createHost(own, stopping.signal, { log: silentLog }))
  const stop = () => {
    stopping.abort(new Error('Stopped by its test.'))
    return ended
  }
  onStarted?.(stop)
  return { ...(await started({ stdout: own.stdout, ended, stderr })), stderr, stop }
}

/** From sources this takes longer than `up` waits for a file, the first time. */
const builtinsLoaded = memoize(async () => {
  await createBuiltinSource({ dir: fileURLToPath(CAPABILITIES_DIR), services: {}, version: '' }).load(
    new AbortController().signal,
  )
})

/** The same as a process of its own. */
export async function startUpProcess(
  cwd: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<UpProcess> {
  return launchUp(cwd, { args, env, onStarted: child => onEnd(() => void child.kill('SIGKILL')) })
}

export interface LaunchOptions {
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  /** Told before the first line is there, so that a process that never gets so far is ended as well. */
  onStarted?(child: ChildProcess): void
}

/** The same for longer than one test; the caller ends it. */
export async function launchUp(cwd: string, { args = [], env = {}, onStarted }: LaunchOptions): Promise<UpProcess> {
  const child = startProcess(upArgs(args), { cwd, env })
  const stderr = collected(child.stderr as Readable)
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  onStarted?.(child)
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  return { ...(await started({ stdout: child.stdout as Readable, ended, stderr })), child, stderr, stop, kill }
}

const upArgs = (more: readonly string[]) => ['up', '--port', '0', '--json', ...more]

function collected(stream: Readable): () => string {
  let all = ''
  stream.on('data', data => (all += String(data)))
  return () => all
}

interface Starting {
  readonly stdout: Readable
  readonly ended: Promise<number | null>
  stderr(): string
}

async function started({ stdout, ended, stderr }: Starting): Promise<Pick<RunningUp, 'url' | 'facts'>> {
  const lines = createInterface({ input: stdout })
  const first = await Promise.race([
    new Promise<string>(resolve => lines.once('line', resolve)),
    ended.then(code => {
      throw new Error(`up ended with ${code}: ${stderr()}`)
    }),
  ])
  const facts = JSON.parse(first) as Record<string, unknown>
  return { url: String(facts.url), facts }
}
