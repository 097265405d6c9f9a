import type { OpFault, OpUse } from '../../core/catalogue/index.ts'
import {
  asText,
  declaredIn,
  fill,
  lackedBy,
  lacksValue,
  onlyParameter,
  parseTemplate,
  secretsIn,
  type TemplatePlace,
  templateFaults,
  type Values,
  valueOf,
} from '../shared/template.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { HttpSettings } from './settings.ts'

export interface BuiltRequest {
  readonly method: string
  readonly url: URL
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The names of headers with a secret. */
  readonly secretHeaders: ReadonlySet<string>
  readonly body?: string | undefined
}

interface BuildOptions {
  readonly values: Values
  readonly idempotencyKey: string
  /** Throws when there is no such secret. */
  secret(name: string): string
}

/** Fills the templates of a declaration with the values of a call. Throws a `Refusal` for values that do not fit their place. */
export function buildRequest(settings: HttpSettings, options: BuildOptions): BuiltRequest {
  const { method, body, idempotencyHeader } = settings
  const url = fillUrl(settings.url, options.values)
  for (const [name, value] of queryOf(settings.query, options)) {
    url.search += `${url.search === '' ? '?' : '&'}${encoded(name, name)}=${encoded(value, name)}`
  }
  const sent = body && bodyOf(body, options)
  const given = headersOf(settings.headers, options)
  return {
    method,
    url,
    headers: {
      accept: 'application/json, text/*;q=0.9, */*;q=0.5',
      'user-agent': 'quartermaster',
      ...(sent && { 'content-type': sent.type }),
      ...given.headers,
      ...(idempotencyHeader && { [idempotencyHeader.toLowerCase()]: options.idempotencyKey }),
    },
    secretHeaders: given.secretHeaders,
    body: sent?.text,
  }
}

/** Parameters without a value are left out; a list gives a field for each item. */
function queryOf(query: HttpSettings['query'], options: BuildOptions): [string, string][] {
  return Object.entries(query).flatMap(([name, given]) =>
    textsOf(given, options).map((text): [string, string] => [name, text]),
  )
}

function textsOf(given: string | number | boolean, { values, secret }: BuildOptions): string[] {
  if (typeof given !== 'string') return [String(given)]
  const template = parseTemplate(given)
  if (lacksValue(template, values)) return []
  const only = onlyParameter(template)
  const value = only && valueOf(values, only.name)
  return Array.isArray(value) ? value.map(asText) : [fill(template, { values, secret })]
}

function headersOf(headers: HttpSettings['headers'], { values, secret }: BuildOptions) {
  const filled: Record<string, string> = {}
  const secretHeaders = new Set<string>()
  for (const [given, text] of Object.entries(headers)) {
    const name = given.toLowerCase()
    const template = parseTemplate(text)
    if (lacksValue(template, values)) continue
    filled[name] = fill(template, {
      values,
      encode: (value, parameter) => headerValue(value, `"${parameter}"`),
      secret: named => headerValue(secret(named), `The secret "${named}"`),
    })
    if (template.parts.some(part => part.kind === 'secret')) secretHeaders.add(name)
  }
  return { headers: filled, secretHeaders }
}

/** A line break would begin another header. */
function headerValue(text: string, what: string): string {
  if (/^[\t\x20-\x7e]*$/.test(text)) return text
  throw new Refusal(`${what} has characters that no header has; only plain ASCII in one line is sent there.`)
}

interface SentBody {
  readonly type: string
  readonly text: string
}

function bodyOf(body: NonNullable<HttpSettings['body']>, options: BuildOptions): SentBody | undefined {
  const { values } = options
  if ('json' in body) {
    const value = jsonOf(body.json, values)
    return value === undefined ? undefined : { type: 'application/json', text: JSON.stringify(value) }
  }
  if ('form' in body) {
    const fields = queryOf(body.form, options)
    return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(fields).toString() }
  }
  const template = parseTemplate(body.text)
  return lacksValue(template, values) ? undefined : { type: body.type, text: fill(template, { values }) }
}

/** Fills values, not text, so that no value can add fields. Parameters without a value are left out. */
function jsonOf(given: unknown, values: Values): unknown {
  if (typeof given === 'string') {
    const template = parseTemplate(given)
    const only = onlyParameter(template)
    if (only) return valueOf(values, only.name)
    return lacksValue(template, values) ? undefined : fill(template, { values })
  }
  if (Array.isArray(given)) return given.map(item => jsonOf(item, values)).filter(item => item !== undefined)
  if (typeof given !== 'object' || given === null) return given
  return Object.fromEntries(Object.entries(given).map(([name, item]) => [name, jsonOf(item, values)]))
}

interface UrlParts {
  readonly scheme: string
  readonly authority: string
  /** Begins with a slash, or is empty. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
}

const ADDRESS = /^(https?):\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i

/** The parts of an address with parameters, which are filled differently; nothing if it is no address. */
function urlParts(url: string): UrlParts | undefined {
  const [, scheme, authority, path = '', query = ''] = ADDRESS.exec(url) ?? []
  if (scheme === undefined || authority === undefined) return undefined
  return { scheme: scheme.toLowerCase(), authority, path, query }
}

function urlFaults({ url, hosts }: Pick<HttpSettings, 'url' | 'hosts'>): OpFault[] {
  const fault = (message: string): OpFault[] => [{ field: 'with.url', message }]
  const parts = urlParts(url)
  if (!parts) return fault('must begin with "https://" or "http://" and a host, and have no "#"')
  const [host = '', port] = splitPort(parts.authority)
  if (parts.authority.includes('@'))
    return fault('must have no account in it; put the secret into a header, such as "Bearer ${secret:NAME}"')
  if (port !== undefined && !/^\d{1,5}$/.test(port)) return fault('must have a number as its port, and no parameter')
  if (parseTemplate(host).parts.some(part => part.kind !== 'text')) {
    return hosts.length > 0
      ? []
      : fault('has a parameter in its host; name the hosts it may be under "hosts", or write the host out')
  }
  return URL.canParse(`${parts.scheme}://${parts.authority}/`) ? [] : fault(`has no host: "${host}" is none`)
}

function splitPort(authority: string): [host: string, port?: string] {
  const [, host = authority, port] = /^(.*?|\[.*\])(?::([^:\]]*))?$/.exec(authority) ?? []
  return port === undefined ? [host] : [host, port]
}

/** The address of a call. Throws a `Refusal` for a value that does not fit its place. */
function fillUrl(url: string, values: Values): URL {
  const parts = urlParts(url)
  if (!parts) throw new Refusal('The address of this tool is none.')
  const lacked = lackedBy(parseTemplate(url), values)
  if (lacked !== undefined) throw new Refusal(`"${lacked}" is part of the address and must have a value.`)
  const authority = fill(parseTemplate(parts.authority), { values, encode: hostValue })
  const path = parts.path.split('/').map(segment => fillSegment(segment, values))
  const query = fill(parseTemplate(parts.query), { values, encode: encoded })
  const text = `${parts.scheme}://${authority}${path.join('/')}${query === '' ? '' : `?${query}`}`
  if (!URL.canParse(text)) throw new Refusal('With these values the address is none.')
  return new URL(text)
}

/** A value stays one part of the path and is no `.` or `..`, also once the server has decoded it. */
function fillSegment(segment: string, values: Values): string {
  const template = parseTemplate(segment)
  if (template.parts.every(part => part.kind === 'text')) return fill(template, { values })
  const plain = fill(template, { values })
  const names = template.parts.flatMap(part => (part.kind === 'parameter' ? [part.name] : []))
  if (plain === '' || leadsUp(plain))
    throw new Refusal(`"${names.join('" and "')}" would lead to another place in the address; give a name.`)
  return fill(template, {
    values,
    encode(text, name) {
      if (text === '') throw new Refusal(`"${name}" is part of the address and must not be empty.`)
      if (/\p{Cc}/u.test(text))
        throw new Refusal(`"${name}" is part of the address and must have no control characters.`)
      return encoded(text, name)
    },
  })
}

/** `%2e%2e%2f` leads up in servers that decode twice, and `..;` in those that strip path parameters. */
function leadsUp(text: string): boolean {
  const decoded = text
    .replace(/%(?:25)+/gi, '%')
    .replace(/%2e/gi, '.')
    .replace(/%(?:2f|5c)/gi, '/')
    .replace(/%3b/gi, ';')
  return decoded.split(/[\\/]/).some(part => /^\.{1,2}(?:;|$)/.test(part))
}

function hostValue(text: string, name: string): string {
  if (/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(text)) return text
  throw new Refusal(`"${name}" is part of the host: letters, digits, "-" and dots between them.`)
}

function encoded(text: string, name: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    throw new Refusal(`"${name}" has half a character in it, which cannot be sent.`)
  }
}

const NOT_HERE = 'has a secret, which may be in "headers" and "query" only'

/** All templates of a declaration, and what each may hold. */
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

/** Mistakes in a declaration of a request. */
export function requestFaults({ settings, parameters }: OpUse<HttpSettings>): OpFault[] {
  return [
    ...templateFaults(placesIn(settings), declaredIn(parameters)),
    ...urlFaults(settings),
    ...safetyFaults(settings),
    ...bodyFaults(settings),
  ]
}

/** Secrets need TLS. */
function safetyFaults(settings: HttpSettings): OpFault[] {
  const { url, privateHosts } = settings
  const parts = urlParts(url)
  if (parts?.scheme !== 'http' || secretsIn(placesIn(settings)).length === 0) return []
  const host = URL.canParse(url) ? new URL(url).hostname : parts.authority
  if (privateHosts.some(one => one.replace(/:\d+$/, '').toLowerCase() === host.toLowerCase())) return []
  return [{ field: 'with.url', message: 'must begin with "https://", because a secret is sent there' }]
}

/** In JSON or a form as text, a value could close a quote and add fields, unless it is the whole text. */
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
