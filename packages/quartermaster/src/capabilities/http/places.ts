import type { OpFault, OpUse } from '../../core/catalogue/index.ts'
import { declaredIn, secretsIn, type TemplatePlace, templateFaults } from '../shared/template.ts'
import type { HttpSettings } from './settings.ts'
import { urlFaults, urlParts } from './url-template.ts'

const NOT_HERE = 'has a secret, which may be in "headers" and "query" only'

/** Every template of a declaration, and what may be in each. */
export function placesIn({ url, query, headers, body }: HttpSettings): TemplatePlace[] {
  return [
    { field: 'with.url', text: url, noSecrets: NOT_HERE, needsAll: true },
    ...textsIn(query, 'with.query'),
    ...textsIn(headers, 'with.headers'),
    ...textsIn(body, 'with.body').map(place => ({ ...place, noSecrets: NOT_HERE })),
  ]
}

function textsIn(value: unknown, field: string): TemplatePlace[] {
  if (typeof value === 'string') return [{ field, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, `${field}.${key}`))
}

/** What is wrong with a declaration of a request. */
export function requestFaults({ settings, parameters }: OpUse<HttpSettings>): OpFault[] {
  return [
    ...templateFaults(placesIn(settings), declaredIn(parameters)),
    ...urlFaults(settings),
    ...safetyFaults(settings),
    ...bodyFaults(settings),
  ]
}

/** What everybody on the way can read is no place for a secret. */
function safetyFaults(settings: HttpSettings): OpFault[] {
  const { url, privateHosts } = settings
  const parts = urlParts(url)
  if (parts?.scheme !== 'http' || secretsIn(placesIn(settings)).length === 0) return []
  const host = URL.canParse(url) ? new URL(url).hostname : parts.authority
  if (privateHosts.some(one => one.replace(/:\d+$/, '').toLowerCase() === host.toLowerCase())) return []
  return [{ field: 'with.url', message: 'must begin with "https://", because a secret is sent there' }]
}

function bodyFaults({ method, body, headers, idempotencyHeader }: HttpSettings): OpFault[] {
  const faults: OpFault[] = []
  if (body && (method === 'GET' || method === 'HEAD'))
    faults.push({ field: 'with.body', message: `is nothing that a ${method} has; use "query", or another "method"` })
  const names = Object.keys(headers).map(name => name.toLowerCase())
  if (new Set(names).size < names.length)
    faults.push({ field: 'with.headers', message: 'has a header twice, in different letters' })
  if (idempotencyHeader && names.includes(idempotencyHeader.toLowerCase()))
    faults.push({ field: 'with.idempotencyHeader', message: 'is among the "headers" as well; leave it out there' })
  return faults
}
