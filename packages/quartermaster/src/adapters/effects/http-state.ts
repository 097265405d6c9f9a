import { z } from 'zod'
import type { Sighting } from '../../contracts/index.ts'
import { bodyChunks } from '../../core/kernel/index.ts'
import { createTemplatedKind, type EffectKind } from '../../core/operations/index.ts'
import { codeOf } from './errno.ts'
import { textObjection } from './fields.ts'
import { countOccurrences } from './occurrences.ts'

/** More of an answer is not read. */
const MOST_BYTES = 1024 * 1024

const Status = z.number().int().min(200).max(599)

const Fields = z.strictObject({
  url: z.string().min(1).max(8_192),
  /** Literal, and the only ones that are ever asked: a URL whose gaps come from outside cannot lead anywhere else. */
  hosts: z
    .array(
      z
        .string()
        .regex(
          /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/,
          'must be a host, such as "api.example.com" or "localhost:8080"',
        ),
    )
    .min(1),
  method: z.enum(['GET', 'HEAD']).default('GET'),
  status: z.union([Status, z.array(Status).min(1)]).optional(),
  contains: z.string().min(1).optional(),
})
type Fields = z.infer<typeof Fields>

/** A resource answers as it did not before. */
export function httpState(): EffectKind {
  return createTemplatedKind<Fields>({
    kind: 'httpState',
    schema: Fields,
    templates: {
      url: { write: (value, root) => (root === 'config' ? value : encodeURIComponent(value)) },
      contains: {},
    },
    check: ({ status, contains, method }) => [
      ...(status === undefined && contains === undefined ? ['needs "status" or "contains".'] : []),
      ...(contains !== undefined && method === 'HEAD' ? ['contains: an answer to HEAD has no text.'] : []),
    ],
    checkFilled: ({ url, hosts, contains }) => urlObjection(url, hosts) ?? textObjection({ contains }),
    async look(fields, { signal }) {
      const objection = urlObjection(fields.url, fields.hosts)
      if (objection !== undefined) return { seen: 'unclear', reason: `It cannot be asked: ${objection}` }
      try {
        return await ask(fields, signal)
      } catch (error) {
        return { seen: 'unclear', reason: `It did not answer (${codeOf(error) ?? 'the connection failed'}).` }
      }
    },
  })
}

function urlObjection(text: string, hosts: readonly string[]): string | undefined {
  if (!URL.canParse(text)) return 'its "url" is none.'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'its "url" is not one of http: or https:.'
  if (url.username !== '' || url.password !== '') return 'its "url" has a name or password in it.'
  const named = new Set(hosts.map(host => host.toLowerCase()))
  if (!named.has(url.hostname) && !named.has(`${url.hostname}:${portOf(url)}`)) return 'its host is not one of "hosts".'
  // A value of ".." would be a step up, encoded or not.
  const isClimbing = /[/\\](?:\.|%2e){1,2}(?:$|[/\\])/i.test(text.replace(/[?#].*$/s, ''))
  return isClimbing ? 'its "url" has a step up in it.' : undefined
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

async function ask({ url, method, status, contains }: Fields, signal: AbortSignal): Promise<Sighting> {
  const response = await fetch(url, {
    method,
    signal,
    // Whatever an answer points to was named by nobody.
    redirect: 'manual',
    headers: { accept: '*/*', 'user-agent': 'quartermaster', 'cache-control': 'no-cache', connection: 'close' },
  })
  const isWanted = status === undefined ? response.ok : [status].flat().includes(response.status)
  if (!isWanted || contains === undefined) {
    await response.body?.cancel()
    return isWanted ? { seen: 'there' } : otherStatus(response)
  }
  return lookForText(response, contains, signal)
}

/** Only an answer about the resource itself says that it is not so: trouble, a login or a detour says nothing about it. */
function otherStatus({ status, ok }: Response): Sighting {
  const seen = ok || status === 404 || status === 410 ? 'absent' : 'unclear'
  return { seen, reason: `It answered with status ${status}.` }
}

async function lookForText(response: Response, contains: string, signal: AbortSignal): Promise<Sighting> {
  const counter = countOccurrences(contains)
  let size = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const chunk of bodyChunks(response, signal)) {
    counter.add(chunk.subarray(0, MOST_BYTES - size))
    size += chunk.byteLength
    if (size > MOST_BYTES) break
  }
  const { count } = counter
  if (count > 0) return { seen: 'there', mark: String(count), count }
  if (size > MOST_BYTES) return { seen: 'unclear', reason: 'The text is not in the first MiB of the answer.' }
  return { seen: 'absent', reason: 'The answer does not have the text.' }
}
