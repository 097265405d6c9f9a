// @ts-check
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { join } from 'node:path'

/** A failure that is fully explained by its message; the process ends with its exit code. */
export class Failure extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/**
 * Runs a script's work and ends the process with the exit code it answers.
 * @param {() => Promise<number>} work
 */
export async function runMain(work) {
  try {
    process.exitCode = await work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    console.error(error.message)
    process.exitCode = error.exitCode
  }
}

/**
 * Runs a program that shares our terminal; answers its exit code.
 * @param {readonly [string, ...string[]]} command
 * @param {string} cwd
 * @returns {Promise<number>}
 */
export function runInFront([program, ...args], cwd) {
  return exitOf(spawn(program, args, { cwd, stdio: 'inherit' }))
}

/**
 * Runs a program and keeps what it prints. Our own output stays clean for whoever reads it with a program.
 * @param {readonly [string, ...string[]]} command
 * @param {string} cwd
 * @returns {Promise<{ code: number, output: string }>}
 */
export async function runQuietly([program, ...args], cwd) {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], ...shellFor(program) })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  const code = await exitOf(child)
  return { code, output: output.trimEnd() }
}

const PROGRESS_MS = 5_000

/**
 * Says every few seconds how far a long step is.
 * @template T
 * @param {() => string} state
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(state, work) {
  let seconds = 0
  const timer = setInterval(() => {
    seconds += PROGRESS_MS / 1_000
    console.error(`  ${state()} after ${seconds} s`)
  }, PROGRESS_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/**
 * The command line of a tool among the installed packages. Its script is started with this Node rather than through
 * `node_modules/.bin`, which holds shell scripts on Windows.
 * @param {string} root
 * @param {string} packageName
 * @param {string} name
 * @returns {[string, string]}
 */
export function installedTool(root, packageName, name) {
  const folder = join(root, 'node_modules', packageName)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return [process.execPath, join(folder, bin[name])]
}

/**
 * The command line of the compiler. Its checkers each look at what the others look at as well: four of them, as it has by itself,
 * take twice the work of one, which is only worth it where there are cores for them.
 * @param {string} root
 * @returns {[string, ...string[]]}
 */
export function compiler(root) {
  const checkers = Math.min(4, Math.ceil(availableParallelism() / 2))
  return [...installedTool(root, 'typescript', 'tsc'), '--checkers', String(checkers)]
}

/** @param {string} program */
function shellFor(program) {
  // Node refuses to start .cmd files without a shell (CVE-2024-27980). Only fixed command lines come this way.
  return program.endsWith('.cmd') ? { shell: true } : {}
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<number>}
 */
function exitOf(child) {
  const stopForwarding = forwardSignals(child)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  }).finally(stopForwarding)
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {() => void}
 */
function forwardSignals(child) {
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  /** @param {NodeJS.Signals} signal */
  const forward = signal => {
    // A terminal sends Ctrl-C to the child as well, and a second one reads as "at once, without tidying up".
    if (signal === 'SIGINT' && process.stdin.isTTY) return
    child.kill(signal)
  }
  for (const signal of signals) process.on(signal, forward)
  return () => {
    for (const signal of signals) process.off(signal, forward)
  }
}
