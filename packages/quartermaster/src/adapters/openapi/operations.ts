import { Name } from '../../contracts/index.ts'
import type { ApiDocument } from './api-document.ts'
import { freeNames, LONGEST_NAME } from './names.ts'
import { isRecord, type Node, recordsIn, textIn, Unmappable } from './node.ts'
import { createReferences, type References } from './references.ts'

/** An operation as it stands in a document. */
export interface FoundOperation {
  readonly id: string
  readonly tool: string
  /** In upper case. */
  readonly method: string
  readonly path: string
  readonly short: string
  readonly node: Node
  /** What stands above it, for all operations of the path. */
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

/** Stands for all that may be at a path: one that cannot be read must hide no other. */
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
  // The index of a folder is the page of the capability, and some words are nobody's name.
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
