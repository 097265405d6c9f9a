import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { jsonFault } from '../../core/kernel/index.ts'
import type { Fault, Path } from './faults.ts'

/** A parsed JSON text with comments: its values, their positions, and its faults. */
export interface JsonDocument {
  /** The text without a byte order mark; offsets count in it. */
  readonly text: string
  readonly root: Node | undefined
  /** Plain values. `undefined` when the text is not JSON at all. */
  readonly value: unknown
  readonly faults: readonly Fault[]
}

// Written by hand, nothing comes near this; without a limit, a file of brackets would exhaust the parser's stack.
const MAX_DEPTH = 64

const BYTE_ORDER_MARK = '\uFEFF'

/** Names that lead to the prototype instead of to a property, where later code copies the values carelessly. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Reads JSON with comments and trailing commas. Never throws: see `faults`. */
export function parseDocument(input: string): JsonDocument {
  const { text } = splitByteOrderMark(input)
  const tooDeep = findTooDeep(text)
  if (tooDeep !== undefined) return broken(text, depthFault(tooDeep))
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [first] = errors
  // Only the first: what follows a syntax error is mostly its consequence.
  if (first) return broken(text, syntaxFault(first, text))
  const faults: Fault[] = []
  return { text, root, value: root && toValue(root, [], faults), faults }
}

/** The text, and the byte order mark that stood before it or nothing. */
export function splitByteOrderMark(input: string): { mark: string; text: string } {
  const mark = input.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : ''
  return { mark, text: input.slice(mark.length) }
}

/** Where the value of this path stands, or what is nearest around it. */
export function offsetOf(document: JsonDocument, path: Path): number {
  const node = nodeAt(document, path)
  if (node) return node.offset
  return path.length === 0 ? 0 : offsetOf(document, path.slice(0, -1))
}

/** Where the name of this property stands. */
export function keyOffsetOf(document: JsonDocument, path: Path): number {
  const node = nodeAt(document, path)
  return node?.parent?.type === 'property' ? node.parent.offset : offsetOf(document, path)
}

/** The node of this path, if the text has one. */
export function nodeAt({ root }: JsonDocument, path: Path): Node | undefined {
  return root && findNodeAtLocation(root, [...path])
}

/** The value at a path as a document of its own. Its offsets count in the whole text. */
export function partOf(document: JsonDocument, path: Path): JsonDocument {
  const { text, faults } = document
  const inside = faults.filter(fault => path.every((key, i) => fault.path[i] === key))
  return {
    text,
    root: nodeAt(document, path),
    value: path.reduce<unknown>(ownValue, document.value),
    faults: inside.map(fault => ({ ...fault, path: fault.path.slice(path.length) })),
  }
}

function ownValue(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string | number, unknown>)[key]
}

// jsonc-parser's SyntaxKind is an ambient const enum, which cannot be imported into isolated modules.
const OPENING: ReadonlySet<number> = new Set([1, 3])
const CLOSING: ReadonlySet<number> = new Set([2, 4])
const END_OF_FILE = 17

function findTooDeep(text: string): number | undefined {
  const scanner = createScanner(text, true)
  let depth = 0
  for (let token: number = scanner.scan(); token !== END_OF_FILE; token = scanner.scan()) {
    if (OPENING.has(token)) depth++
    else if (CLOSING.has(token)) depth--
    if (depth > MAX_DEPTH) return scanner.getTokenOffset()
  }
  return undefined
}

function broken(text: string, fault: Fault): JsonDocument {
  return { text, root: undefined, value: undefined, faults: [fault] }
}

function depthFault(offset: number): Fault {
  return { offset, path: [], message: `It is nested more than ${MAX_DEPTH} levels deep.`, fix: 'Flatten it.' }
}

function syntaxFault({ error, offset }: ParseError, text: string): Fault {
  const empty = text.trim() === ''
  const message = empty ? 'The file is empty.' : jsonFault(printParseErrorCode(error))
  return { offset, path: [], message, fix: empty ? 'Write at least "{}".' : 'Correct the syntax.' }
}

function toValue(node: Node, path: Path, faults: Fault[]): unknown {
  if (node.type === 'object') return toObject(node, path, faults)
  if (node.type === 'array')
    return (node.children ?? []).map((child, index) => toValue(child, [...path, index], faults))
  if (node.type === 'number' && !Number.isFinite(node.value)) faults.push(endlessFault(node, path))
  return node.value
}

function toObject(node: Node, path: Path, faults: Fault[]): Record<string, unknown> {
  const entries = new Map<string, unknown>()
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? []
    const key = String(keyNode?.value)
    if (FORBIDDEN_KEYS.has(key)) faults.push(forbiddenFault(property, path, key))
    else if (entries.has(key)) faults.push(duplicateFault(property, path, key))
    else if (valueNode) entries.set(key, toValue(valueNode, [...path, key], faults))
  }
  // Defines own properties and calls no setter, so no key can reach a prototype.
  return Object.fromEntries(entries)
}

function endlessFault({ offset }: Node, path: Path): Fault {
  return { offset, path, message: 'This number is too large.', fix: 'Write a smaller one.' }
}

function forbiddenFault({ offset }: Node, path: Path, key: string): Fault {
  const holder = path.at(-1)
  const where = typeof holder === 'string' ? ` in "${holder}"` : ''
  return {
    offset,
    path: [...path, key],
    message: `"${key}" cannot be used as a name${where}: it is a reserved word.`,
    fix: 'Remove it or choose another name.',
  }
}

function duplicateFault({ offset }: Node, path: Path, key: string): Fault {
  return { offset, path: [...path, key], message: `"${key}" stands here a second time.`, fix: 'Keep one of the two.' }
}
