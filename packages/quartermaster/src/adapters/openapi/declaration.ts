import { stringify } from 'yaml'
import {
  type ApiDocument,
  createReferences,
  freeNames,
  isRecord,
  type Node,
  textIn,
  Unmappable,
} from './api-document.ts'
import { type FoundOperation, type NeededSecret, securityOf, serverOf } from './operations.ts'
import { type BodyParameter, bodyOf, type MappedParameter, parametersOf } from './parameters.ts'
import { outerSchemas, type SchemaChecks, type Schemas, tolerantSchema, wholeSchemas, withMarks } from './schema.ts'

/** A declaration that stands for an operation. */
export interface MadeDeclaration {
  /** The whole file. */
  readonly text: string
  readonly notes: readonly string[]
  readonly secrets: readonly SentSecret[]
}

/** A secret, and who gets to know it. */
export interface SentSecret extends NeededSecret {
  /** With its port, where it has one of its own. */
  readonly host: string
}

export interface MappingOptions {
  readonly capability: string
  /** Names of secrets that the owner has given, by the names of the ways to sign in. */
  readonly secretNames: ReadonlyMap<string, string>
  /** Instead of the servers that the document names. */
  readonly server?: URL | undefined
  /** Where the document was, for servers that are named from there. */
  readonly base?: URL | undefined
}

export interface DeclarationOptions extends MappingOptions, SchemaChecks {
  /** A schema in words that are known here. */
  relax(schema: Node): Node
}

const MAPPED = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
const LONGEST_TEXT = 4_000

/** Why no declaration can be made of an operation, as far as that is seen without looking into schemas. */
export function obstacleTo(
  operation: FoundOperation,
  document: ApiDocument,
  options: MappingOptions,
): string | undefined {
  try {
    mapped(operation, document, { ...options, schemas: outerSchemas(createReferences(document.root)) })
    return undefined
  } catch (error) {
    if (error instanceof Unmappable) return error.message
    throw error
  }
}

/** The parts of an operation, each with its place in a request. */
function mapped(
  operation: FoundOperation,
  document: ApiDocument,
  { schemas, ...options }: MappingOptions & { readonly schemas: Schemas },
) {
  const { method, node, lost } = operation
  if (lost !== undefined) throw new Unmappable(lost)
  if (!MAPPED.has(method)) throw new Unmappable(`${method} is no method of a tool.`)
  const { parameters, notes } = parametersOf(operation, schemas)
  const free = freeNames(parameters.map(({ name }) => name))
  const { body, notes: ofBody } = bodyOf(node.requestBody, { ...schemas, method, free })
  const { references } = schemas
  const security = securityOf(operation, document, { references, prefix: options.capability, ...options })
  const address = addressOf(operation, document, { parameters, options })
  return { parameters, body, security, address, notes: [...notes, ...ofBody, ...security.notes, ...address.notes] }
}

/** Makes the declaration of an operation. Throws `Unmappable` with the reason where that cannot be. */
export function toDeclaration(
  operation: FoundOperation,
  document: ApiDocument,
  options: DeclarationOptions,
): MadeDeclaration {
  const { method, node, short } = operation
  const schemas = wholeSchemas(createReferences(document.root), document)
  const { parameters, body, security, address, notes } = mapped(operation, document, { ...options, schemas })
  const fixes: string[] = []
  const given = [...parameters, ...(body?.parameters ?? [])].map((one: BodyParameter): BodyParameter => {
    const fixed = tolerantSchema(one.schema, {
      isSound: schema => options.isSound(schema),
      fits: (schema, value) => options.fits(options.relax(schema), value),
    })
    fixes.push(...fixed.notes.map(note => `Parameter "${one.name}": ${note}`))
    return { ...one, schema: fixed.schema }
  })
  const description = textIn(node, 'description')
  const front = {
    schema: 1,
    op: 'op.http.request',
    short,
    ...(description && description !== short && { whenToUse: cut(description) }),
    ...(given.length > 0 && { parameters: declaredOf(given, options) }),
    with: {
      method,
      url: address.url,
      ...inPlace('query', parameters, security.query),
      ...inPlace('header', parameters, security.headers),
      ...(body && { body: body.body }),
      ...(address.privateHosts && { privateHosts: address.privateHosts }),
    },
    ...examplesOf(given, short, options),
  }
  const secrets = security.secrets.map(one => ({ ...one, host: address.host }))
  return { text: fileOf(front, operation, document), notes: [...notes, ...fixes], secrets }
}

function inPlace(place: 'query' | 'header', parameters: readonly MappedParameter[], own: Node): Node {
  const theirs = parameters.filter(one => one.place === place).map(({ field, name }) => [field, `{${name}}`])
  const all = { ...Object.fromEntries(theirs), ...own }
  if (Object.keys(all).length === 0) return {}
  return { [place === 'query' ? 'query' : 'headers']: all }
}

function declaredOf(given: readonly BodyParameter[], { relax }: DeclarationOptions): Node {
  return Object.fromEntries(
    given.map(({ name, schema, isRequired }) => {
      const plain = withMarks(relax(schema))
      const typed = TYPED.some(word => word in plain) ? plain : { ...plain, type: ANY }
      return [name, { ...typed, ...(isRequired && { required: true }) }]
    }),
  )
}

const TYPED = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf']
const ANY = ['string', 'number', 'boolean', 'object', 'array', 'null']

/** One example, if the document has a fitting value for every required parameter. */
function examplesOf(given: readonly BodyParameter[], short: string, { relax, fits }: DeclarationOptions): Node {
  const shown = given.filter(({ example, schema }) => example !== undefined && fits(relax(schema), example))
  if (shown.length === 0 || given.some(one => one.isRequired && !shown.includes(one))) return {}
  const input = Object.fromEntries(shown.map(({ name, example }) => [name, example]))
  return { examples: [{ query: short.replace(/\.$/, ''), input }] }
}

interface Address {
  readonly url: string
  readonly host: string
  readonly privateHosts?: readonly string[] | undefined
  readonly notes: readonly string[]
}

function addressOf(
  operation: FoundOperation,
  document: ApiDocument,
  { parameters, options }: { parameters: readonly MappedParameter[]; options: MappingOptions },
): Address {
  const server = options.server ?? namedServer(operation, document, options.base)
  if (server.protocol !== 'https:' && server.protocol !== 'http:')
    throw new Unmappable(`Its server "${server.href}" is no web address; give one with --server.`)
  const names = new Map(parameters.filter(one => one.place === 'path').map(({ field, name }) => [field, name]))
  // Before a brace, a "$" would be the beginning of a secret.
  const path = operation.path.replaceAll('$', '%24').replace(/\{([^{}]*)\}|[{}]/g, (whole, field?: string) => {
    const name = field === undefined ? undefined : names.get(field)
    if (name === undefined) throw new Unmappable(`Its path has "${whole}", which none of its parameters is.`)
    return `{${name}}`
  })
  const base = `${server.origin}${server.pathname.replace(/\/$/, '')}`.replace(/[{}]/g, '$&$&')
  const { hostname, host } = server
  // Only the owner may let a tool reach internal hosts; the document comes from a stranger.
  if (!isInside(hostname)) return { url: `${base}${path}`, host, notes: [] }
  if (options.server) return { url: `${base}${path}`, host, privateHosts: [hostname], notes: [] }
  const note = `Its server is ${hostname}. If that is meant, give it with --server, or add "privateHosts: [${hostname}]" under "with".`
  return { url: `${base}${path}`, host, notes: [note] }
}

/** By what it is called; what a name leads to is looked at in every call. */
function isInside(host: string): boolean {
  return /^(?:localhost|.+\.localhost|.+\.local|.+\.internal|\d+\.\d+\.\d+\.\d+|\[.*\]|[^.]+)$/i.test(host)
}

function namedServer(operation: FoundOperation, document: ApiDocument, base: URL | undefined): URL {
  const server = serverOf(operation, document)
  const given = server && textIn(server, 'url')
  if (!server || given === undefined) {
    if (base) return new URL('/', base)
    throw new Unmappable('The document names no server; give one with --server.')
  }
  const variables = isRecord(server.variables) ? server.variables : {}
  const url = given.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = variables[name]
    return isRecord(variable) && variable.default !== undefined ? String(variable.default) : whole
  })
  if (!URL.canParse(url, base?.href) || /[{}]/.test(url))
    throw new Unmappable(`Its server is "${given}", which is no whole address; give one with --server.`)
  return new URL(url, base)
}

function fileOf(front: Node, { method, path, node }: FoundOperation, { title }: ApiDocument): string {
  const head = stringify(front, { lineWidth: 110, aliasDuplicateObjects: false })
  const description = textIn(node, 'description')
  const body = [`${method} ${path} of ${title}.`, ...(description ? [description] : [])].join('\n\n')
  return `---\n${visible(head)}---\n\n${visible(body)}\n`
}

/** Removes invisible characters: a person who reviews the file could not see what a model reads. */
function visible(text: string): string {
  return text.replace(/(?![ \n\t])[\p{C}\p{Default_Ignorable_Code_Point}]/gu, '')
}

function cut(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text
}
