import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Probe, ProbeContext, ProbeVerdict } from '../../core/catalogue/index.ts'

export interface PathOptions {
  readonly path: string
  /** Where a relative path counts from. Default: the working folder of the process. */
  readonly base?: string
  readonly kind?: 'file' | 'folder'
  /** The required access. Default: it exists. */
  readonly access?: 'read' | 'write' | 'execute'
}

/** Looks whether a file or folder is there, and whether it may be used. */
export function path(options: PathOptions): Probe {
  const { path, base, kind, access } = options
  return {
    describe: { kind: 'path', path, ...(base && { base }), ...(kind && { type: kind }), ...(access && { access }) },
    // A disk that is away may never answer, and cannot be told to stop.
    run: ({ signal }) => orAborted(look(resolve(base ?? process.cwd(), path), options), signal),
  }
}

async function look(file: string, options: PathOptions): Promise<ProbeVerdict> {
  try {
    const stats = await stat(file)
    if (options.kind === 'file' && !stats.isFile()) return down(`"${file}" is not a file.`)
    if (options.kind === 'folder' && !stats.isDirectory()) return down(`"${file}" is not a folder.`)
    if (options.access) await access(file, ACCESS[options.access].mode)
    return UP
  } catch (error) {
    const reason = reasonOf(codeOf(error), file, options)
    if (reason === undefined) throw error
    return down(reason)
  }
}

const ACCESS = {
  read: { mode: constants.R_OK, verb: 'read' },
  write: { mode: constants.W_OK, verb: 'written' },
  execute: { mode: constants.X_OK, verb: 'executed' },
} as const

/** What a file system error says about the path; `undefined` for faults of our process or of the disk. */
function reasonOf(code: string | undefined, file: string, { kind, access }: PathOptions): string | undefined {
  if (code === 'ENOENT' || code === 'ENOTDIR') return `There is no ${kind ?? 'file or folder'} at "${file}".`
  if (code === 'ELOOP') return `"${file}" is a link that leads back to itself.`
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return `"${file}" cannot be ${access ? ACCESS[access].verb : 'looked at'} (${code}).`
  }
  return undefined
}

export interface NamedOptions {
  readonly name: string
}

/** Looks whether an environment variable is set and not empty. */
export function environment({ name }: NamedOptions): Probe {
  return {
    describe: { kind: 'environment', name },
    run() {
      const value = process.env[name]
      if (value === undefined) return down(`The environment variable "${name}" is not set.`)
      return value === '' ? down(`The environment variable "${name}" is empty.`) : UP
    },
  }
}

/** Looks whether a secret of this name is there. */
export function secret({ name }: NamedOptions): Probe {
  return {
    describe: { kind: 'secret', name },
    run: context => (context.hasSecret(name) ? UP : down(`There is no secret named "${name}".`)),
  }
}

/** Looks at several things at once; all must be up. The first that is not says why, and ends the others. */
export function allOf(...probes: readonly Probe[]): Probe {
  return {
    describe: { kind: 'allOf', probes: probes.map(probe => probe.describe) },
    async run(context) {
      const controller = new AbortController()
      const forget = onAbort(context.signal, () => controller.abort(context.signal.reason))
      const inner = { ...context, signal: controller.signal, hasSecret: (name: string) => context.hasSecret(name) }
      try {
        return await firstDown(probes.map(probe => verdictOf(probe, inner)))
      } finally {
        forget()
        controller.abort()
      }
    },
  }
}

async function verdictOf(probe: Probe, context: ProbeContext): Promise<ProbeVerdict> {
  const verdict = await probe.run(context)
  if (typeof verdict !== 'boolean') return verdict
  return verdict ? UP : down(`The ${probe.describe.kind} probe said no.`)
}

/** A definite no outweighs one that could not tell, so a failure counts only when no other answer is left to come. */
function firstDown(verdicts: readonly Promise<ProbeVerdict>[]): Promise<ProbeVerdict> {
  return new Promise((resolve, reject) => {
    const settled = verdicts.map(verdict => verdict.then(answer => (answer.up ? undefined : resolve(answer))))
    Promise.allSettled(settled).then(outcomes => {
      const failed = outcomes.find(outcome => outcome.status === 'rejected')
      if (failed) reject(failed.reason)
      else resolve(UP)
    }, reject)
  })
}

/** The verdict of a look that found nothing wrong. */
export const UP: ProbeVerdict = Object.freeze({ up: true })

export function down(reason: string): ProbeVerdict {
  return { up: false, reason }
}

/** The system's short name of an error (`ECONNREFUSED`), also where it is wrapped in another. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : codeOf(cause)
}

/**
 * What a failed connection says about the other side, or `undefined` when it says nothing: a reset, a full table of
 * open files or a name server that is away for a moment do not mean that the service is.
 */
export function probeResultOf(error: unknown, where: { host: string; address: string }): ProbeVerdict | undefined {
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return down(`Nothing listens on ${where.address} (connection refused).`)
  if (code === 'ENOTFOUND') return down(`No host is named "${where.host}".`)
  if (code !== undefined && UNREACHABLE.has(code)) return down(`${where.address} cannot be reached (${code}).`)
  return undefined
}

const UNREACHABLE: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL'])

/** The promise, or a rejection as soon as the signal aborts; for work that cannot be told to stop. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const release: { stop?: () => void } = {}
  const aborted = new Promise<never>((_resolve, reject) => {
    release.stop = onAbort(signal, () => reject(signal.reason))
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    release.stop?.()
  }
}

/** Runs the task once the signal aborts, at once when it has already. Returns how to forget about it. */
export function onAbort(signal: AbortSignal, task: () => void): () => void {
  if (signal.aborted) task()
  else signal.addEventListener('abort', task, { once: true })
  return () => signal.removeEventListener('abort', task)
}
