import { type ChildProcess, spawn } from 'node:child_process'
import { onAbort } from './abort.ts'

/** What a program printed and how it ended; `code` is `null` when someone killed it. */
export interface Run {
  readonly text: string
  readonly code: number | null
}

/** Enough for any version and for the pages of build options that some programs print after it. */
const MAX_BYTES = 64 * 1024

/** What programs need to start at all. Everything else in our environment, secrets first, is none of their business. */
const PASSED_ON = ['PATH', 'Path', 'HOME', 'LANG', 'SystemRoot', 'SYSTEMROOT', 'USERPROFILE', 'TEMP', 'TMP', 'TMPDIR']

/** Runs a program without a shell until it ends, has said enough or the signal aborts. Nothing it started stays. */
export function runProgram(file: string, args: readonly string[], signal: AbortSignal): Promise<Run> {
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
