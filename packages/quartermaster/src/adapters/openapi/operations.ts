import { Name } from '../../contracts/index.ts'
import { isTransportHeader } from '../../core/kernel/index.ts'
import {
  type ApiDocument,
  createReferences,
  freeNames,
  isRecord,
  LONGEST_NAME,
  type Node,
  type References,
  recordsIn,
  textIn,
  Unmappable,
} from './api-document.ts'

/** An operation as it stands in a document. */
export interface FoundOperation {
  readonly id: string
  readonly tool: string
  /** In upper case. */
  readonly method: string
  readonly path: string
  readonly short: string
  readonly node: Node
  /** The path item, for all operations of the path. */
  readonly item: Node
  /** Why nothing is known of it, where the document says so much. */
  readonly lost?: string
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'] as const

/** All operations of a document, in its order. No two have the same id, and no two tools the same name. */
export function operationsIn({ root }: ApiDocument): FoundOperation[] {
  const references = createReferences(root)
  const found = Object.entries(root.paths as Node).flatMap(([path, given]) => {
    const item = itemAt(references, given)
    if (item instanceof Unmappable) return [lostOperation(path, item)]
    return METHODS.flatMap(method => {
      const node = item[method]
      return isRecord(node) ? [operationOf(node, { method, path, item })] : []
    })
  })
  const ids = new Set<string>()
  const free = freeNames()
  return found.map(one => {
    const id = ids.has(one.id) ? requestOf(one) : one.id
    ids.add(id)
    return { ...one, id, tool: free(one.tool) }
  })
}

/** `GET /cities/{city}`: what no two operations share. */
export function requestOf({ method, path }: Pick<FoundOperation, 'method' | 'path'>): string {
  return `${method} ${path}`
}

function itemAt(references: References, given: unknown): Node | Unmappable {
  try {
    return references.follow(given)
  } catch (error) {
    if (error instanceof Unmappable) return error
    throw error
  }
}

/** Replaces a path that cannot be read, which must not hide the others. */
function lostOperation(path: string, { message }: Unmappable): FoundOperation {
  return {
    id: path,
    tool: toName(path),
    method: 'ANY',
    path,
    short: 'Not described here.',
    node: {},
    item: {},
    lost: message,
  }
}

function operationOf(node: Node, { method, path, item }: { method: string; path: string; item: Node }): FoundOperation {
  const request = toName(`${method}_${path}`)
  const id = textIn(node, 'operationId') ?? request
  const name = /[a-z0-9]/i.test(id) ? toName(id) : request
  // The index of a folder is the page of the capability, and some words are reserved.
  const tool = name === 'index' || !Name.safeParse(name).success ? `${method}_${name}` : name
  return { id, tool, method: method.toUpperCase(), path, short: shortOf(node, method, path), node, item }
}

const LONGEST_SHORT = 300

function shortOf(node: Node, method: string, path: string): string {
  const said =
    textIn(node, 'summary') ?? firstSentence(textIn(node, 'description')) ?? `${method.toUpperCase()} ${path}`
  const line = `${node.deprecated === true ? 'Deprecated. ' : ''}${said}`.replace(/\s+/g, ' ')
  const cut = line.length > LONGEST_SHORT ? `${line.slice(0, LONGEST_SHORT - 1)}…` : line
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`
}

function firstSentence(text: string | undefined): string | undefined {
  return text && (/^[\s\S]*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text)
}

/** `listCitiesV2` → `list_cities_v2`: letters that every runtime takes. */
export function toName(text: string): string {
  const words = text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
  return (words ?? ['operation']).join('_').slice(0, LONGEST_NAME)
}

/** The first address that counts for an operation. */
export function serverOf({ node, item }: FoundOperation, { root }: ApiDocument): Node | undefined {
  return [node, item, root].map(({ servers }) => recordsIn(servers)[0]).find(server => server !== undefined)
}

/** A secret that a declaration refers to. */
export interface NeededSecret {
  readonly name: string
  /** Its name in the document. */
  readonly scheme: string
  /** What the secret must contain. */
  readonly what: string
}

/** How an operation authenticates. */
interface MappedSecurity {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly secrets: readonly NeededSecret[]
  readonly notes: readonly string[]
}

const NOTHING: MappedSecurity = { headers: {}, query: {}, secrets: [], notes: [] }

interface SecurityOptions {
  readonly references: References
  /** Prefix of secrets' names that were not given. */
  readonly prefix: string
  /** Names that the owner has given, by what the document calls them. */
  readonly secretNames: ReadonlyMap<string, string>
}

/**
 * The first usable security requirement: those with a secret named by the owner first, then none at all, then the others. Throws
 * `Unmappable` if none is usable.
 */
export function securityOf(
  { node }: FoundOperation,
  { root }: ApiDocument,
  { references, prefix, secretNames }: SecurityOptions,
): MappedSecurity {
  const given = node.security ?? root.security
  const all = Array.isArray(given) ? given.filter(isRecord) : []
  const named = all.filter(way => Object.keys(way).some(name => secretNames.has(name)))
  if (!Array.isArray(given) || given.length === 0) return NOTHING
  if (named.length === 0 && all.some(isAnonymous)) return anonymous(all)
  const ways = [...named, ...all.filter(way => !named.includes(way) && !isAnonymous(way))]
  const components = isRecord(root.components) ? root.components : {}
  const schemes = isRecord(components.securitySchemes) ? components.securitySchemes : {}
  let obstacle = ''
  for (const way of ways) {
    try {
      return Object.keys(way)
        .map(name =>
          schemeOf(name, references.follow(schemes[name]), secretNames.get(name) ?? secretName(prefix, name)),
        )
        .reduce(both, NOTHING)
    } catch (error) {
      if (!(error instanceof Unmappable)) throw error
      obstacle = error.message
    }
  }
  throw new Unmappable(obstacle || 'It says nothing about how to sign in.')
}

const isAnonymous = (way: Node) => Object.keys(way).length === 0

function anonymous(ways: readonly Node[]): MappedSecurity {
  const [scheme] = ways.flatMap(way => Object.keys(way))
  if (scheme === undefined) return NOTHING
  const note = `It is called without signing in, which the document allows. To sign in: --secret ${scheme}=NAME`
  return { ...NOTHING, notes: [note] }
}

function schemeOf(name: string, scheme: Node, secret: string): MappedSecurity {
  const reference = `\${secret:${secret}}`
  const { type, in: place } = scheme
  const field = textIn(scheme, 'name') ?? ''
  const is = String(scheme.scheme ?? '').toLowerCase()
  const needs = (what: string) => [{ name: secret, scheme: name, what }]
  if (type === 'apiKey' && place === 'header' && isTransportHeader(field))
    throw new Unmappable(`It wants its key in the header "${field}", which is set by itself.`)
  if (type === 'apiKey' && place === 'header')
    return { ...NOTHING, headers: { [field]: reference }, secrets: needs(`the key for the header "${field}"`) }
  if (type === 'apiKey' && place === 'query')
    return { ...NOTHING, query: { [field]: reference }, secrets: needs(`the key for "${field}" in the address`) }
  if (type === 'http' && is === 'bearer')
    return { ...NOTHING, headers: { Authorization: `Bearer ${reference}` }, secrets: needs('the bearer token') }
  if (type === 'http' && is === 'basic')
    return {
      ...NOTHING,
      headers: { Authorization: `Basic ${reference}` },
      secrets: needs('the account as base64 of "name:password"'),
    }
  if (type === 'oauth2' || type === 'openIdConnect')
    return {
      ...NOTHING,
      headers: { Authorization: `Bearer ${reference}` },
      secrets: needs('an access token, which you get and renew yourself'),
    }
  throw new Unmappable(`It wants to be signed in to by "${name}", in a way that a declaration has not.`)
}

/** The names of a document's security schemes. */
export function schemesIn({ root }: ApiDocument): string[] {
  const { securitySchemes } = isRecord(root.components) ? root.components : {}
  return isRecord(securitySchemes) ? Object.keys(securitySchemes) : []
}

function both(a: MappedSecurity, b: MappedSecurity): MappedSecurity {
  return {
    headers: { ...a.headers, ...b.headers },
    query: { ...a.query, ...b.query },
    secrets: [...a.secrets, ...b.secrets],
    notes: [...a.notes, ...b.notes],
  }
}

function secretName(prefix: string, name: string): string {
  return `${prefix}_${name}`
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
    .slice(0, 57)
}
