import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ensureFolder, ignoring, syncFolder, unusable } from './folder.ts'
import {
  type Endpoint,
  type EndpointFacts,
  lockFolder,
  type OwnerLock,
  readEndpoint,
  removeEndpoint,
  writeEndpoint,
} from './owner.ts'
import { hasAdminToken, hasSealingKey, makeAdminToken, makeSealingKey, prover, verifier } from './secrets.ts'

/** The folder that holds what one `up` keeps, with the credential and the address by which commands find it. */
export interface DataFolder {
  /** Where it is, absolute. */
  readonly dir: string
  /** Makes the folder, for its owner only. One with things in it that others can read is refused, not changed. */
  ensure(): Promise<void>
  /** Makes this process the folder's one owner, until released or until the process ends, however it ends. */
  lock(): Promise<OwnerLock>
  /** Whether an owner has been here before: it has left its token or its key. */
  hasHistory(): boolean
  /** The mark that the store of this folder was moved. */
  movedMark(): Promise<MovedMark | undefined>
  /** Marks the store as moved, permanently: no `up` uses the store of this folder any more. */
  markMoved(moved: { readonly to: string; readonly at: string }): Promise<void>
  /** The admin token; made the first time it is asked for. */
  adminToken(): Promise<string>
  /** The key to what is sealed in the store; made the first time it is asked for. */
  sealingKey(): Promise<Uint8Array>
  /** Tells whether a candidate is this token, in constant time. */
  verifier(token: string): (candidate: string) => boolean
  /** Proves that one knows this token without saying it. */
  prover(token: string): (challenge: string, port: number) => string
  /** Says where the owner listens. */
  writeEndpoint(facts: EndpointFacts): Promise<void>
  /** Where the owner said it listens; it may be gone. */
  readEndpoint(): Promise<Endpoint | undefined>
  /** Takes back what this object wrote, unless a later owner has written since. */
  removeEndpoint(): Promise<void>
}

export function openDataFolder(dir: string): DataFolder {
  const path = resolve(dir)
  const instance = randomUUID()
  return {
    dir: path,
    ensure: () => ensureFolder(path),
    lock: () => lockFolder(path),
    hasHistory: () => hasAdminToken(path) || hasSealingKey(path),
    movedMark: () => readMovedMark(path),
    markMoved: moved => writeMovedMark(path, moved),
    adminToken: () => makeAdminToken(path),
    sealingKey: () => makeSealingKey(path),
    verifier,
    prover,
    writeEndpoint: facts => writeEndpoint(path, { ...facts, instance }),
    readEndpoint: () => readEndpoint(path),
    removeEndpoint: () => removeEndpoint(path, instance),
  }
}

/** Said of a store that is kept somewhere else now. */
export interface MovedMark {
  /** The file that says so. Without it the store of this folder counts again. */
  readonly file: string
  /** Where it went, without a password, and when. Absent where the file says something else. */
  readonly moved?: { readonly to: string; readonly at: string }
}

/** The mark, if there is one. Whatever is in it, it counts: a store that is used in two places is worse than one that is not. */
async function readMovedMark(dir: string): Promise<MovedMark | undefined> {
  const file = markFile(dir)
  try {
    const text = await readFile(file, 'utf8').catch(ignoring('ENOENT'))
    if (text === undefined) return undefined
    const moved = movedIn(parsed(text))
    return moved ? { file, moved } : { file }
  } catch (error) {
    throw unusable(dir, error)
  }
}

function movedIn(value: unknown): MovedMark['moved'] {
  if (typeof value !== 'object' || value === null) return undefined
  const { to, at } = value as { to?: unknown; at?: unknown }
  const isTime = typeof at === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(at)
  return typeof to === 'string' && to !== '' && isTime ? { to, at } : undefined
}

/** Written aside, synced and put in place: it is there whole, or not at all. */
async function writeMovedMark(dir: string, moved: { to: string; at: string }): Promise<void> {
  const draft = `${markFile(dir)}.draft`
  try {
    await writeFile(draft, `${JSON.stringify(moved, undefined, 2)}\n`, { mode: 0o600, flush: true })
    await rename(draft, markFile(dir))
    await syncFolder(dir)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

const markFile = (dir: string) => join(dir, 'store-moved.json')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The file may have been edited by hand; that it exists is enough.
    return undefined
  }
}
