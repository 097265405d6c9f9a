import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { unusable } from './errors.ts'

/** Where the owner of a folder listens, and which of all owners wrote it. */
export const Endpoint = z.object({
  url: z.url({ protocol: /^http$/ }),
  pid: z.number().int(),
  /** Epoch milliseconds. */
  startedAt: z.number(),
  version: z.string(),
  instance: z.string(),
})
export type Endpoint = z.infer<typeof Endpoint>
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
    return Endpoint.parse(JSON.parse(await readFile(endpointFile(dir), 'utf8')))
  } catch {
    // Missing, unreadable, half-written or of another version: all say that no owner can be found by it.
    return undefined
  }
}

export async function removeEndpoint(dir: string, instance: string): Promise<void> {
  const current = await readEndpoint(dir)
  if (current?.instance === instance) await rm(endpointFile(dir), { force: true })
}

function endpointFile(dir: string): string {
  return join(dir, 'endpoint.json')
}
