import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Probe, ProbeVerdict } from '../../core/catalogue/index.ts'
import { orAborted } from './abort.ts'
import { codeOf, down, UP } from './verdict.ts'

export interface PathOptions {
  readonly path: string
  /** Where a relative path counts from. Default: the working folder of the process. */
  readonly base?: string
  readonly kind?: 'file' | 'folder'
  /** What must be allowed with it. Default: that it is there is enough. */
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

/** What a refused look says about the path; nothing when the trouble is ours or the disk's. */
function reasonOf(code: string | undefined, file: string, { kind, access }: PathOptions): string | undefined {
  if (code === 'ENOENT' || code === 'ENOTDIR') return `There is no ${kind ?? 'file or folder'} at "${file}".`
  if (code === 'ELOOP') return `"${file}" is a link that leads back to itself.`
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return `"${file}" cannot be ${access ? ACCESS[access].verb : 'looked at'} (${code}).`
  }
  return undefined
}
