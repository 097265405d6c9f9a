import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { hasAdminToken, makeAdminToken } from './admin-token.ts'
import { type Endpoint, type EndpointFacts, readEndpoint, removeEndpoint, writeEndpoint } from './endpoint.ts'
import { ensureFolder } from './folder.ts'
import { type MovedMark, readMovedMark, writeMovedMark } from './moved-mark.ts'
import { lockFolder, type OwnerLock } from './owner-lock.ts'
import { hasSealingKey, makeSealingKey } from './sealing-key.ts'
import { prover, verifier } from './token-proof.ts'

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
  /** What says that the store of this folder is kept somewhere else now. */
  movedMark(): Promise<MovedMark | undefined>
  /** Says so, for good: no `up` takes the store of this folder for the one that counts. */
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
