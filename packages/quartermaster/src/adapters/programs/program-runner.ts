import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import type { Readable } from 'node:stream'
import { isAppError } from '../../contracts/index.ts'
import type { ProgramOutcome, ProgramRequest, ProgramService } from '../../core/catalogue/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import { type CallerPathResult, isIn, pathInCallerTexts } from './caller-paths.ts'
import { type Child, type StopTimes, wait } from './child.ts'
import type { ProcessManager } from './process-manager.ts'
import { locatedProgram, workingFolder } from './working-folder.ts'

export interface ProgramRunnerOptions {
  readonly processes: Pick<ProcessManager, 'spawn'>
  readonly projectDir: string
  readonly dataDir: string
  readonly clock: Pick<Clock, 'now' | 'breathe'>
}

/** Its remaining output is not waited for; after SIGTERM it has a moment to put things in order. */
const STOP: StopTimes = { graceMs: 0, termMs: 2_000 }
/** How long what it has started may hold its output open once it has ended itself. */
const LINGER_MS = 500

/** Runs programs to their end, in process groups, so that nothing of them outlives the run or the gateway. */
export function createProgramRunner({ processes, ...places }: ProgramRunnerOptions): ProgramService['run'] {
  return async request => {
    const { signal } = request
    if (signal.aborted) throw signal.reason
    const place = await placeOf(request, places)
    if ('reason' in place) return { kind: 'refused', reason: place.reason }
    if (signal.aborted) throw signal.reason
    const { program, args, env } = request
    try {
      const command = locatedProgram(program, places.projectDir)
      return await toItsEnd(await processes.spawn({ command, args, env, cwd: place.cwd, stop: STOP }), request)
    } catch (error) {
      const outcome = startFailure(error, program)
      if (outcome === undefined || signal.aborted) throw error
      return outcome
    }
  }
}

type Place = { readonly cwd: string } | { readonly reason: string }

/** Where it runs. Neither that nor what it is told leads to the data folder, or out of the project. */
async function placeOf(
  { foreign, cwd, env }: ProgramRequest,
  { projectDir, dataDir, clock }: Omit<ProgramRunnerOptions, 'processes'>,
): Promise<Place> {
  try {
    const real = await workingFolder({ cwd, projectDir, dataDir })
    if (!(await isIn(real, await realpath(projectDir))))
      return { reason: `The working folder "${cwd}" is not in the project folder. Set "cwd" to one that is.` }
    const home = env['HOME'] ?? homedir()
    const leading = await pathInCallerTexts(foreign, { base: real, home, dataDir, clock })
    if (leading.kind !== 'elsewhere') return { reason: refusalOf(leading) }
    return { cwd: real }
  } catch (error) {
    if (isAppError(error) && error.code === 'CONFIG_INVALID') return { reason: error.message }
    throw error
  }
}

function refusalOf(leading: Exclude<CallerPathResult, { kind: 'elsewhere' }>): string {
  const { parameter } = leading
  const fix = `the author of the tool can list "${parameter}" under "notPaths" if it is no path.`
  if (leading.kind === 'tooMany')
    return `"${parameter}" has more in it than can be looked through for paths to the data folder. Give less; ${fix}`
  const { piece } = leading
  const shown = piece.length > SHOWN_CHARACTERS ? `${piece.slice(0, SHOWN_CHARACTERS)}…` : piece
  return `"${parameter}" has "${shown}" in it, a path that holds the data folder or lies in it. No tool may reach that. Give another path; ${fix}`
}

/** How much of a piece of a value is shown, so that the reader can find it. */
const SHOWN_CHARACTERS = 200

async function toItsEnd(child: Child, { stdin, maxBytes, signal }: ProgramRequest): Promise<ProgramOutcome> {
  let isCut = false
  let left = maxBytes
  const take = (size: number): number => {
    const taken = Math.min(size, left)
    left -= taken
    if (taken < size && !isCut) {
      isCut = true
      void child.end()
    }
    return taken
  }
  const [stdout, stderr] = [collect(child.stdout, take), collect(child.stderr, take)]
  const giveUp = () => void child.end()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    if (signal.aborted) giveUp()
    // A program that reads nothing breaks the pipe, which is no error.
    child.stdin.end(stdin ?? '')
    const { code } = await child.exited
    await wait(LINGER_MS, Promise.all([stdout.ended, stderr.ended]))
    await child.end()
    if (signal.aborted) throw signal.reason
    return { kind: 'ended', code, stdout: stdout.bytes(), stderr: stderr.bytes(), isCut }
  } finally {
    signal.removeEventListener('abort', giveUp)
    await child.end()
  }
}

function collect(stream: Readable, take: (size: number) => number) {
  const parts: Buffer[] = []
  const ended = new Promise<void>(resolve => {
    stream.once('close', resolve)
    stream.once('end', resolve)
  })
  stream.on('data', (part: Buffer) => {
    const taken = take(part.length)
    if (taken > 0) parts.push(part.subarray(0, taken))
  })
  return { ended, bytes: () => Buffer.concat(parts) }
}

/** The reason for a system error code when a program does not start; `undefined` for other codes. */
function startFailure(error: unknown, program: string): ProgramOutcome | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (typeof code !== 'string' || typeof syscall !== 'string' || !syscall.startsWith('spawn')) return undefined
  // The program is well: with the same arguments it would say so for ever.
  if (code === 'E2BIG')
    return { kind: 'refused', reason: 'The arguments are more than the system hands to a program. Give less.' }
  if (code === 'ENOENT') return failed(`The program "${program}" is not there.`)
  if (code === 'EINVAL') return failed(`The program "${program}" is one that only a shell starts, and none is used.`)
  return failed(`The program "${program}" cannot be started (${code}).`)
}

const failed = (reason: string): ProgramOutcome => ({ kind: 'failed', reason })
