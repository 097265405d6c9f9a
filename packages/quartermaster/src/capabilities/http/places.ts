import type { OpFault, OpUse } from '../../core/catalogue/index.ts'
import { declaredIn, parseTemplate, secretsIn, type TemplatePlace, templateFaults } from '../shared/template.ts'
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

/** In a text nothing keeps a value in its place: it could close a quote and add fields. One that is all of the text has no place. */
function textFaults({ text, type }: { text: string; type: string }): OpFault[] {
  const better = /[/+]json\b/i.test(type) ? 'json' : /x-www-form-urlencoded/i.test(type) ? 'form' : undefined
  const { parts } = parseTemplate(text)
  if (better === undefined || parts.length < 2 || parts.every(part => part.kind !== 'parameter')) return []
  const message = `has a parameter in a text that is ${type}, where a value could be more than it is; use "${better}" in place of "text"`
  return [{ field: 'with.body.text', message }]
}

function bodyFaults({ method, body, headers, idempotencyHeader }: HttpSettings): OpFault[] {
  const faults: OpFault[] = []
  if (body && (method === 'GET' || method === 'HEAD'))
    faults.push({ field: 'with.body', message: `is nothing that a ${method} has; use "query", or another "method"` })
  if (body && 'text' in body) faults.push(...textFaults(body))
  const names = Object.keys(headers).map(name => name.toLowerCase())
  if (new Set(names).size < names.length)
    faults.push({ field: 'with.headers', message: 'has a header twice, in different letters' })
  if (idempotencyHeader && names.includes(idempotencyHeader.toLowerCase()))
    faults.push({ field: 'with.idempotencyHeader', message: 'is among the "headers" as well; leave it out there' })
  return faults
}
