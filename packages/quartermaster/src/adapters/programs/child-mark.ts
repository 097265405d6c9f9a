import { createHash, randomBytes } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

/** The variable by which a child and whatever it starts are known, whatever groups and sessions they form. */
export const MARK = 'QUARTERMASTER_UPSTREAM'

/** Whose child a process is: of which data folder, which run of the gateway, and the how manieth there. */
export interface Mark {
  readonly folder: string
  readonly run: string
  readonly child: number
}

export function markText({ folder, run, child }: Mark): string {
  return `${folder}.${run}.${child}`
}

/** The mark in a text that is exactly one. */
function parseMark(text: string): Mark | undefined {
  const [, folder, run, child] = /^([0-9a-f]{16})\.([0-9a-f]{16})\.(\d{1,15})$/.exec(text) ?? []
  return folder !== undefined && run !== undefined ? { folder, run, child: Number(child) } : undefined
}

/**
 * What a data folder is called in marks. Two containers may each have a folder of this path and see each other's
 * processes, so the folder itself is part of it.
 */
export function folderMark(dataDir: string): string {
  return createHash('sha256').update(identityOf(dataDir)).digest('hex').slice(0, 16)
}

function identityOf(dataDir: string): string {
  try {
    const { dev, ino } = statSync(dataDir)
    return `${realpathSync(dataDir)}\0${dev}:${ino}`
  } catch {
    // A folder that is not there yet has only its path.
    return resolve(dataDir)
  }
}

export function newRun(): string {
  return randomBytes(8).toString('hex')
}

/** The mark in an environment as Linux shows it. */
export function markIn(environ: Buffer): Mark | undefined {
  const text = textIn(environ)
  return text === undefined ? undefined : parseMark(text)
}

/**
 * Whether an environment has a mark that is none of this folder's: of a gateway that was started from inside a program, and goes on
 * without it (`none`), or of such a gateway's own programs. What has none at all has lost it.
 */
export function isMarkedOtherwise(environ: Buffer, folder: string): boolean {
  const text = textIn(environ)
  return text !== undefined && parseMark(text)?.folder !== folder
}

/** What the variable is set to, if it is: `NAME=value`, each ended by a zero byte. */
function textIn(environ: Buffer): string | undefined {
  for (let at = environ.indexOf(`${MARK}=`); at >= 0; at = environ.indexOf(`${MARK}=`, at + 1)) {
    if (at > 0 && environ[at - 1] !== 0) continue
    const end = environ.indexOf(0, at)
    return environ.toString('latin1', at + MARK.length + 1, end < 0 ? environ.length : end)
  }
  return undefined
}
