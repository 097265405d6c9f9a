import { randomBytes } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AppError, messageOf } from '../../contracts/index.ts'
import { sendAlone } from '../http-exchange/index.ts'
import { codeOf, unusable } from './folder.ts'
import { prover, readAdminToken, verifier } from './secrets.ts'

export interface OwnerLock {
  /** Lets the next owner in. May be called again. */
  release(): Promise<void>
}

/**
 * Takes the one lock of the folder: an exclusive transaction on `lock.db`. The operating system drops it with the
 * process, also after `kill -9`, and it holds between containers that share the folder.
 */
export async function lockFolder(dir: string): Promise<OwnerLock> {
  const database = await openLockFile(dir)
  try {
    proveWritable(database)
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw isBusy(error) ? await locked(dir, error) : unlockable(dir, error)
  }
  let held = true
  return {
    async release() {
      if (held) database.close()
      held = false
    },
  }
}

/** The part of the driver that we use. */
interface SqliteLike {
  exec(sql: string): void
  close(): void
}

async function openLockFile(dir: string): Promise<SqliteLike> {
  const file = join(dir, 'lock.db')
  const { DatabaseSync } = await import('@photostructure/sqlite')
  try {
    createPrivately(file)
    return new DatabaseSync(file, { timeout: 0 })
  } catch (error) {
    throw codeOf(error) === SQLITE_ERROR ? unlockable(dir, error) : unusable(dir, error)
  }
}

/**
 * SQLite would make the file readable for others. An existing one must never be opened here: closing it would drop the
 * lock that another part of this process holds on it (POSIX `fcntl`: "all locks … are removed"). For the same reason
 * opening and closing happen without a pause in which someone could lock.
 */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** In a folder that cannot be written SQLite turns an exclusive transaction into a shared one, without a word. */
function proveWritable(database: SqliteLike): void {
  database.exec('BEGIN EXCLUSIVE; PRAGMA user_version = 1; COMMIT')
}

const SQLITE_ERROR = 'ERR_SQLITE_ERROR'
const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6

function isBusy(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  const primary = error.errcode & 0xff
  return primary === SQLITE_BUSY || primary === SQLITE_LOCKED
}

async function locked(dir: string, cause: unknown): Promise<AppError> {
  const owner = await readEndpoint(dir)
  const who = owner ? `the "up" at ${owner.url} (process ${owner.pid})` : 'another process'
  const next = owner ? 'Use that one. If it does not answer, stop it; or choose another folder with --data.' : AFTER_IT
  const details = owner ? { folder: dir, url: owner.url, pid: owner.pid } : { folder: dir }
  return new AppError('STORE_LOCKED', `The data folder "${dir}" belongs to ${who}. ${next}`, { cause, details })
}

/** It starts or ends, or is a command. */
const AFTER_IT = 'Try again when it is done, or choose another folder with --data.'

function unlockable(dir: string, cause: unknown): AppError {
  const next =
    'It must be writable, on a file system with locks, and its lock.db an SQLite file (it may be deleted while nothing runs).'
  const message = `The data folder "${dir}" cannot be locked: ${messageOf(cause)}. ${next}`
  return new AppError('CONFIG_INVALID', message, { cause, details: { folder: dir } })
}

/** Where the owner of a folder listens, and which of all owners wrote it. */
export interface Endpoint {
  readonly url: string
  readonly pid: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly version: string
  readonly instance: string
}
export type EndpointFacts = Omit<Endpoint, 'instance'>

/** Replaces the file in one step; a reader sees the old one or the new one. */
export async function writeEndpoint(dir: string, endpoint: Endpoint): Promise<void> {
  const draft = `${endpointFile(dir)}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, `${JSON.stringify(endpoint, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
    await rename(draft, endpointFile(dir))
  } catch (error) {
    await rm(draft, { force: true })
    throw unusable(dir, error)
  }
}

/** Undefined when there is none, or nothing that makes sense: a hint is never worth failing for. */
export async function readEndpoint(dir: string): Promise<Endpoint | undefined> {
  try {
    const found: unknown = JSON.parse(await readFile(endpointFile(dir), 'utf8'))
    return isEndpoint(found) ? found : undefined
  } catch {
    // Missing, unreadable, half-written or of another version: all say that no owner can be found by it.
    return undefined
  }
}

function isEndpoint(value: unknown): value is Endpoint {
  if (typeof value !== 'object' || value === null) return false
  const { url, pid, startedAt, version, instance } = value as Record<keyof Endpoint, unknown>
  const isPlace = typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === 'http:'
  const isRun = Number.isInteger(pid) && typeof startedAt === 'number'
  return isPlace && isRun && typeof version === 'string' && typeof instance === 'string'
}

export async function removeEndpoint(dir: string, instance: string): Promise<void> {
  const current = await readEndpoint(dir)
  if (current?.instance === instance) await rm(endpointFile(dir), { force: true })
}

function endpointFile(dir: string): string {
  return join(dir, 'endpoint.json')
}

export interface ConnectOptions {
  dir: string
  /** How long the owner may take to say that it lives. */
  timeoutMs?: number
}

export interface Owner {
  url: string
  token: string
}

/**
 * The `up` that owns this folder, if one lives. It must prove that it knows the admin token before it is sent: the
 * endpoint file may be older than the last crash, and the port may be anyone's by now.
 */
export async function connectToOwner({ dir, timeoutMs = 1_000 }: ConnectOptions): Promise<Owner | undefined> {
  const path = resolve(dir)
  const endpoint = await readEndpoint(path)
  if (!endpoint) return undefined
  const token = await readToken(path)
  if (token === undefined) return undefined
  const { url } = endpoint
  return (await knowsToken({ url, token, timeoutMs })) ? { url, token } : undefined
}

async function readToken(dir: string): Promise<string | undefined> {
  try {
    return await readAdminToken(dir)
  } catch (error) {
    throw unusable(dir, error)
  }
}

async function knowsToken({ url, token, timeoutMs }: Owner & { timeoutMs: number }): Promise<boolean> {
  const challenge = randomBytes(32).toString('base64url')
  const target = new URL(`/health?challenge=${challenge}`, url)
  try {
    const response = await sendAlone({ method: 'GET', url: target, signal: AbortSignal.timeout(timeoutMs) })
    const { proof } = JSON.parse(await readStart(response)) as { proof?: unknown }
    return typeof proof === 'string' && verifier(prover(token)(challenge, Number(target.port || 80)))(proof)
  } catch {
    // Refused, silent, slow or speaking another protocol: not an owner we can use.
    return false
  }
}

/** Our answer is a few hundred bytes; a longer one is cut short, and is then not valid JSON. */
const MAX_BYTES = 16 * 1024

async function readStart(response: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of response) {
    parts.push(chunk)
    size += chunk.byteLength
    if (size > MAX_BYTES) break
  }
  return Buffer.concat(parts).toString('utf8')
}
