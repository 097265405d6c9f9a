import { asText, fill, lacksValue, onlyParameter, parseTemplate, type Values, valueOf } from '../shared/template.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { HttpSettings } from './settings.ts'
import { encoded, fillUrl } from './url-template.ts'

/** What is sent. */
export interface BuiltRequest {
  readonly method: string
  readonly url: URL
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Those of the headers that hold a secret. */
  readonly secretHeaders: ReadonlySet<string>
  readonly body?: string | undefined
}

interface BuildOptions {
  readonly values: Values
  readonly idempotencyKey: string
  /** Throws when it is not there. */
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

/** What has no value is left out; a list is there once for each of its items. */
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

/** Nothing where the whole has no value. */
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

/** By value and not by text, so that no value can be more than it is. What has no value is left out. */
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
