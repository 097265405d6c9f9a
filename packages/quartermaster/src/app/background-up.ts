import { spawn } from 'node:child_process'
import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { openDataFolder } from '../adapters/data-folder/index.ts'
import { AppError, ErrorBody } from '../contracts/index.ts'
import type { ProjectPlace } from './locate-project.ts'

/** An `up` of its own, which goes on when this process ends. */
export interface BackgroundUp {
  /** Why it ended, once it has; `undefined` while it runs. */
  failure(): AppError | undefined
}

/** Enough for the starts of months; beyond it the file begins anew. */
const MAX_LOG_BYTES = 1024 * 1024

/** Starts an `up` in the background, with the same program and in the same place. What it says goes to `up.log`. */
export async function startBackgroundUp(dataDir: string, place: ProjectPlace): Promise<BackgroundUp> {
  await openDataFolder(dataDir).ensure()
  const file = join(dataDir, 'up.log')
  const log = openLog(file)
  try {
    const child = spawn(
      process.execPath,
      [...process.execArgv, process.argv[1] ?? '', ...upArguments(dataDir, place)],
      {
        cwd: place.from,
        env: ownEnvironment(),
        detached: true,
        windowsHide: true,
        stdio: ['ignore', log.fd, log.fd],
      },
    )
    let failure: AppError | undefined
    child.once('error', error => {
      failure = new AppError('DEPENDENCY_UNAVAILABLE', `"up" could not be started: ${error.message}`, { cause: error })
    })
    child.once('exit', code => {
      failure = reasonIn(file, log.size) ?? ended(code, file)
    })
    child.unref()
    return { failure: () => failure }
  } finally {
    closeSync(log.fd)
  }
}

/** Whoever is started from inside a program of an upstream would end with it, by its mark or by descent, unless it says otherwise. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, QUARTERMASTER_UPSTREAM: 'none' }
}

function upArguments(dataDir: string, { config }: ProjectPlace): string[] {
  const named = config === undefined ? [] : ['--config', config]
  return ['up', '--background', '--port', '0', '--json', '--data', dataDir, ...named]
}

function openLog(file: string): { fd: number; size: number } {
  const fd = openSync(file, 'a', 0o600)
  const { size } = fstatSync(fd)
  if (size <= MAX_LOG_BYTES) return { fd, size }
  ftruncateSync(fd)
  return { fd, size: 0 }
}

/** What `up` says about why it ended, which is one JSON value. */
function reasonIn(file: string, from: number): AppError | undefined {
  const errors = linesFrom(file, from).flatMap(line => {
    const parsed = ErrorBody.safeParse(errorIn(line))
    return parsed.success ? [AppError.fromJSON(parsed.data)] : []
  })
  return errors.at(-1)
}

function linesFrom(file: string, from: number): string[] {
  const fd = openSync(file, 'r')
  try {
    const text = Buffer.alloc(Math.max(0, Math.min(fstatSync(fd).size - from, MAX_LOG_BYTES)))
    readSync(fd, text, { position: from })
    return text.toString().split('\n')
  } finally {
    closeSync(fd)
  }
}

function errorIn(line: string): unknown {
  try {
    return (JSON.parse(line) as { error?: unknown }).error
  } catch {
    // Not every line of a log is JSON.
    return undefined
  }
}

function ended(code: number | null, file: string): AppError {
  return new AppError('DEPENDENCY_UNAVAILABLE', `"up" ended with ${code ?? 'a signal'}; "${file}" says more.`)
}
