import type { OpFault } from '../../core/catalogue/index.ts'
import { Refusal } from '../shared/refusal.ts'
import { fill, lackedBy, parseTemplate, type Values } from '../shared/template.ts'
import type { HttpSettings } from './settings.ts'

/** The parts of an address, each of which is filled in its own way. */
export interface UrlParts {
  readonly scheme: string
  readonly authority: string
  /** Begins with a slash, or is empty. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
}

const ADDRESS = /^(https?):\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i

/** The parts of an address with places for parameters; nothing for what is none. */
export function urlParts(url: string): UrlParts | undefined {
  const [, scheme, authority, path = '', query = ''] = ADDRESS.exec(url) ?? []
  if (scheme === undefined || authority === undefined) return undefined
  return { scheme: scheme.toLowerCase(), authority, path, query }
}

/** What is wrong with the address of a declaration beyond the names in it. */
export function urlFaults({ url, hosts }: Pick<HttpSettings, 'url' | 'hosts'>): OpFault[] {
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

/** The address of a call. Throws a `Refusal` for a value that would be more than its place allows. */
export function fillUrl(url: string, values: Values): URL {
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

/** One part of the path stays one, and leads neither here nor up: servers decode before they look. */
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

/** To whoever decodes twice, `%2e%2e%2f` is the way up as well; to whoever takes off what is behind a `;`, so is `..;`. */
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

/** A text as one value of an address. */
export function encoded(text: string, name: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    throw new Refusal(`"${name}" has half a character in it, which cannot be sent.`)
  }
}
