import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { z } from 'zod'
import { sendAlone } from '../http-exchange/index.ts'
import { readAdminToken } from './admin-token.ts'
import { readEndpoint } from './endpoint.ts'
import { unusable } from './errors.ts'
import { prover, verifier } from './token-proof.ts'

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

/** The part of the `/health` answer that we ask for. */
const Health = z.object({ proof: z.string() })

async function knowsToken({ url, token, timeoutMs }: Owner & { timeoutMs: number }): Promise<boolean> {
  const challenge = randomBytes(32).toString('base64url')
  const target = new URL(`/health?challenge=${challenge}`, url)
  try {
    const response = await sendAlone({ method: 'GET', url: target, signal: AbortSignal.timeout(timeoutMs) })
    const { proof } = Health.parse(JSON.parse(await readStart(response)))
    return verifier(prover(token)(challenge, Number(target.port || 80)))(proof)
  } catch {
    // Refused, silent, slow or talking about something else: whoever it is, it is not an owner we can use.
    return false
  }
}

/** Our answer is a few hundred bytes; whoever sends more is cut short, and what was read is no JSON then. */
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
