import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Probe, ProbeVerdict } from '../../core/catalogue/index.ts'
import { codeOf, down, onAbort, orAborted, UP } from './values.ts'

export interface ProgramOptions {
  /** A name to be found on the PATH, or a path. */
  readonly command: string
  /** How the program is asked for its version. Default `['--version']`. */
  readonly versionArgs?: readonly string[]
  /** The version it must have. Without it the program is looked for, not run. */
  readonly version?: { readonly atLeast: string }
}

/** Looks whether a program is installed, and in which version. */
export function program({ command, versionArgs = ['--version'], version }: ProgramOptions): Probe {
  const wanted = version ? { versionArgs: [...versionArgs], atLeast: version.atLeast } : {}
  return {
    describe: { kind: 'program', command, ...wanted },
    async run({ signal }) {
      const found = await orAborted(findProgram(command), signal)
      if ('reason' in found) return down(found.reason)
      if (!version) return UP
      const run = await start(found.file, versionArgs, signal)
      return typeof run === 'string' ? down(`"${command}" ${run}`) : judge(command, run.text, version.atLeast)
    },
  }
}

/** The program's output, or why there is none. */
async function start(file: string, args: readonly string[], signal: AbortSignal): Promise<{ text: string } | string> {
  try {
    const { text, code } = await runProgram(file, args, signal)
    if (code === 0) return { text }
    return `${code === null ? 'was killed' : `ended with code ${code}`} when asked for its version.`
  } catch (error) {
    const code = codeOf(error)
    // It is there and executable, yet not for this machine, or its interpreter is missing.
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOEXEC') return `cannot be started (${code}).`
    throw error
  }
}

function judge(command: string, text: string, atLeast: string): ProbeVerdict {
  const version = versionIn(text)
  if (!version) throw new Error(`"${command}" did not print a version.`)
  return compare(version, atLeast) < 0 ? down(`"${command}" is ${version}, at least ${atLeast} is needed.`) : UP
}

/** The first thing in a text that looks like a version: `6.1.1` in `ffmpeg version n6.1.1-3 Copyright (c) 2000`. */
function versionIn(text: string): string | undefined {
  return /\d+(?:\.\d+)+/.exec(text)?.[0] ?? /\d+/.exec(text)?.[0]
}

function compare(left: string, right: string): number {
  const [a, b] = [numbersOf(left), numbersOf(right)]
  const length = Math.max(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function numbersOf(version: string): number[] {
  return (version.match(/\d+/g) ?? []).map(Number)
}

const onWindows = process.platform === 'win32'

/** Where a program is, or why it cannot be run. */
type Found = { readonly file: string } | { readonly reason: string }

/** Finds a program as a shell would, without one. A command with a slash in it is a path and taken as it is. */
async function findProgram(command: string): Promise<Found> {
  if (command.includes('/') || (onWindows && command.includes('\\'))) return findFile(command)
  for (const folder of foldersOnPath()) {
    const file = await firstExecutable(join(folder, command))
    if (file) return { file }
  }
  return { reason: `"${command}" is not on the PATH.` }
}

async function findFile(path: string): Promise<Found> {
  const file = await firstExecutable(path)
  if (file) return { file }
  const isThere = await stat(path).then(
    stats => stats.isFile(),
    // A program that we may not see we may not run either.
    () => false,
  )
  return { reason: isThere ? `"${path}" is not executable.` : `There is no program at "${path}".` }
}

/** Empty entries mean the working folder to a shell; a program that happens to lie there is not an installed one. */
function foldersOnPath(): string[] {
  const variable = Object.keys(process.env).find(name => (onWindows ? name.toUpperCase() : name) === 'PATH')
  return (process.env[variable ?? 'PATH'] ?? '').split(delimiter).filter(folder => folder !== '')
}

async function firstExecutable(path: string): Promise<string | undefined> {
  for (const file of candidates(path)) {
    if (await isExecutable(file)) return file
  }
  return undefined
}

/** On Windows a name stands for every file with an ending that the system runs. */
function candidates(path: string): string[] {
  if (!onWindows) return [path]
  const endings = (process.env.PATHEXT ?? '.EXE;.CMD;.BAT;.COM').split(';').filter(ending => ending !== '')
  const isComplete = endings.some(ending => path.toLowerCase().endsWith(ending.toLowerCase()))
  return isComplete ? [path] : endings.map(ending => path + ending)
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    // Not there or not ours to run: either way the search goes on.
    return false
  }
}

/** A program's output and exit; `code` is `null` when it was killed. */
interface Run {
  readonly text: string
  readonly code: number | null
}

/** Enough for any version and for the pages of build options that some programs print after it. */
const MAX_BYTES = 64 * 1024

/** The variables that programs need to start. The rest of our environment, secrets above all, is not passed. */
const PASSED_ON = ['PATH', 'Path', 'HOME', 'LANG', 'SystemRoot', 'SYSTEMROOT', 'USERPROFILE', 'TEMP', 'TMP', 'TMPDIR']

/** Runs a program without a shell until it ends, has said enough or the signal aborts. Nothing it started stays. */
function runProgram(file: string, args: readonly string[], signal: AbortSignal): Promise<Run> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const child = spawn(file, args, {
      env: Object.fromEntries(
        PASSED_ON.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
      ),
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
      // A group of its own, so that the children of a wrapper script can be stopped with it.
      detached: process.platform !== 'win32',
    })
    const output = collect(child)
    const forget = onAbort(signal, () => {
      stopGroup(child)
      reject(signal.reason)
    })
    child.once('error', error => {
      forget()
      reject(error)
    })
    // A child of the program that holds the output open would keep `close` from coming.
    child.once('exit', () => stopGroup(child))
    child.once('close', code => {
      forget()
      resolve({ text: output.read(), code: output.isFull() ? 0 : code })
    })
  })
}

function collect(child: ChildProcess): { read(): string; isFull(): boolean } {
  const chunks: Buffer[] = []
  let size = 0
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_BYTES) stopGroup(child)
    })
  }
  return {
    read: () => Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8'),
    isFull: () => size > MAX_BYTES,
  }
}

function stopGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The whole group is gone already, which is what was wanted.
  }
}
