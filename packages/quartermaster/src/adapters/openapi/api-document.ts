import { Composer, type CST, type Document, Lexer, LineCounter, Parser, visit, YAMLParseError } from 'yaml'
import { AppError, Name } from '../../contracts/index.ts'
import type { Steps } from '../../core/kernel/index.ts'

/** A description of an API in OpenAPI 3.0 or 3.1. */
export interface ApiDocument {
  readonly title: string
  /** Whether schemas are in the older dialect. */
  readonly isOld: boolean
  readonly root: Node
}

/** The largest public ones have 12 MB. */
export const DOCUMENT_BYTES = 32 * 1024 * 1024
/** Deeper than any real API description; far deeper, it could not be serialised again. */
const DEEPEST = 200

/** Refuses a document by its size, before it is read where possible. */
export function refuseTooLarge(bytes: number): void {
  if (bytes > DOCUMENT_BYTES) throw invalid(`The document is larger than ${DOCUMENT_BYTES / 1024 / 1024} MiB.`)
}

/** Reads a document, in steps. Throws `INPUT_INVALID` with what it is instead. */
export function* readApiDocument(text: string): Steps<ApiDocument> {
  refuseTooLarge(Buffer.byteLength(text))
  const root = yield* readValue(text.replace(/^\uFEFF/, ''))
  if (isDeeper(root, DEEPEST)) throw tooDeep()
  if (!isRecord(root)) throw invalid('It is no OpenAPI document.')
  if (root.swagger !== undefined)
    throw invalid('It is Swagger 2. Convert it to OpenAPI 3 first, as "npx swagger2openapi" does.')
  const version = String(root.openapi ?? '')
  // Without quotes, YAML reads 3.0 as the number 3.
  if (!/^3(?:\.[01])?(?:\.|$)/.test(version))
    throw invalid(
      version === ''
        ? 'It is no OpenAPI document: it does not say "openapi: 3.1.0" or the like.'
        : `It is OpenAPI ${version.slice(0, 20)}, and 3.0 and 3.1 are read here.`,
    )
  if (!isRecord(root.paths)) throw invalid('It describes no paths.')
  const title = isRecord(root.info) && typeof root.info.title === 'string' ? root.info.title : 'API'
  return { title, isOld: !version.startsWith('3.1'), root }
}

function* readValue(text: string): Steps<unknown> {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : yield* readYaml(text)
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''
    if (/call stack/i.test(said)) throw tooDeep()
    throw invalid(`It is neither JSON nor YAML: ${said}`)
  }
}

function isDeeper(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return left === 0 || Object.values(value).some(one => isDeeper(one, left - 1))
}

function tooDeep(): AppError {
  return invalid('It is nested deeper than can be read.')
}

function invalid(message: string): AppError {
  return new AppError('INPUT_INVALID', message)
}

/** With anchors a small text can be made large: what they lead to counts each time. */
const MOST_VALUES = 2_000_000
/** Words between two pauses: some milliseconds. */
const WORDS = 5_000
/** About as much as is put together between two pauses. */
const PIECE_CHARACTERS = 100_000

/**
 * The value of a text in YAML, in steps: one of some megabytes takes seconds. Throws what `yaml` throws. The library looks at
 * all the keys of a map for each of them, so that thousands of paths took minutes; keys that are there twice are told here.
 */
function* readYaml(text: string): Steps<unknown> {
  const lines = new LineCounter()
  const { tokens, isPlain } = yield* tokensOf(text, lines)
  const [document, ...others] = tokens.filter(one => one.type === 'document')
  const reading = { lines, length: text.length }
  const map = document?.value
  if (!isPlain || others.length > 0 || map?.type !== 'block-map') return valueOf(compose(tokens, reading), lines)
  // What stands around the map belongs to no piece of it.
  compose([without(document, 'value')], reading)
  return yield* mapOf(map, reading)
}

interface Tokens {
  readonly tokens: CST.Token[]
  /** Whether each part says the same when it is read alone: nothing refers to what stands elsewhere. */
  readonly isPlain: boolean
}

function* tokensOf(text: string, lines: LineCounter): Steps<Tokens> {
  const parser = new Parser(lines.addNewLine)
  const tokens: CST.Token[] = []
  let isPlain = true
  let count = 0
  lines.addNewLine(0)
  for (const word of new Lexer().lex(text)) {
    if (++count % WORDS === 0) yield
    if (/^[&!]/.test(word)) isPlain = false
    tokens.push(...parser.next(word))
  }
  tokens.push(...parser.end())
  return { tokens, isPlain: isPlain && !tokens.some(({ type }) => type === 'directive' || type === 'error') }
}

interface Reading {
  readonly lines: LineCounter
  readonly length: number
}

/** A map part by part; a part that is a long map itself is read in the same way. */
function* mapOf(map: CST.BlockMap, reading: Reading): Steps<Record<string, unknown>> {
  const entries = new Map<string, unknown>()
  for (const { items, inner } of piecesOf(map, reading)) {
    yield
    const piece = valueOf(compose([documentOf(map, items)], reading), reading.lines) as object
    for (const [key, value] of Object.entries(piece)) {
      if (entries.has(key)) throw twice(key, offsetOf(items), reading.lines)
      entries.set(key, inner ? yield* mapOf(inner, reading) : value)
    }
  }
  // Unlike what is assigned, "__proto__" stays a name like any other.
  return Object.fromEntries(entries)
}

interface Piece {
  readonly items: CST.BlockMap['items']
  /** The value of the only item, where that is long. */
  readonly inner?: CST.BlockMap
}

function* piecesOf({ items }: CST.BlockMap, { length }: Reading): Generator<Piece> {
  let begun: CST.BlockMap['items'] = []
  for (const [index, item] of items.entries()) {
    const next = items[index + 1]
    const end = next ? offsetOf([next]) : length
    const { value } = item
    if (value?.type === 'block-map' && end - offsetOf([item]) > PIECE_CHARACTERS) {
      if (begun.length > 0) yield { items: begun }
      begun = []
      yield { items: [without(item, 'value')], inner: value }
      continue
    }
    begun.push(item)
    if (end - offsetOf(begun) < PIECE_CHARACTERS) continue
    yield { items: begun }
    begun = []
  }
  if (begun.length > 0) yield { items: begun }
}

function documentOf(map: CST.BlockMap, items: CST.BlockMap['items']): CST.Document {
  const offset = offsetOf(items)
  return { type: 'document', offset, start: [], value: { ...map, offset, items } }
}

/** Every token may be without its value; the types do not say so of all. */
function without<T extends object>(token: T | undefined, field: keyof T): T {
  return { ...(token as T), [field]: undefined }
}

function offsetOf([item]: CST.BlockMap['items']): number {
  return item?.start[0]?.offset ?? item?.key?.offset ?? 0
}

function compose(tokens: readonly CST.Token[], { lines, length }: Reading): Document {
  const composer = new Composer({ uniqueKeys: false, merge: true })
  const [document, another] = composer.compose(tokens, true, length)
  if (!document) throw new Error('It is empty.')
  const [error] = document.errors
  if (error) throw told(error, lines)
  if (another) throw new Error('There are several documents in it.')
  return document as Document
}

function valueOf(document: Document, lines: LineCounter): unknown {
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<string>()
      for (const { key } of items) {
        const name = String(key)
        if (keys.has(name)) throw twice(name, (key as { range?: [number] }).range?.[0] ?? 0, lines)
        keys.add(name)
      }
    },
  })
  const value: unknown = document.toJS({ maxAliasCount: -1 })
  if (sizeOf(value, new Map()) > MOST_VALUES) throw new Error('Its anchors make it larger than can be read.')
  return value
}

/** How many values there are in one, each as often as it is led to. */
function sizeOf(value: unknown, known: Map<object, number>): number {
  if (typeof value !== 'object' || value === null) return 1
  const before = known.get(value)
  if (before !== undefined) return before
  // One that contains itself has no end.
  known.set(value, Number.POSITIVE_INFINITY)
  const size = Object.values(value).reduce((sum: number, one) => sum + sizeOf(one, known), 1)
  known.set(value, size)
  return size
}

function told(error: Error, lines: LineCounter): Error {
  return error instanceof YAMLParseError ? at(error.message, error.pos[0], lines) : error
}

function twice(key: string, offset: number, lines: LineCounter): Error {
  return at(`"${key}" is there twice`, offset, lines)
}

function at(message: string, offset: number, lines: LineCounter): Error {
  const { line, col } = lines.linePos(offset)
  return new Error(`${message} (line ${line}, column ${col})`)
}

/** Follows the references of a document, which lead nowhere else. */
export interface References {
  /** The object itself, where a reference stands. */
  follow(value: unknown): Node
}

/** A chain of references that is longer leads in a circle. */
const LONGEST_CHAIN = 50

export function createReferences(root: Node): References {
  const known = new Map<string, unknown>()
  const targetOf = (reference: string) => {
    const target = known.get(reference) ?? found(root, reference)
    known.set(reference, target)
    return target
  }
  return {
    follow(value) {
      let node = value
      for (let steps = 0; isRecord(node) && typeof node.$ref === 'string'; steps++) {
        if (steps > LONGEST_CHAIN) throw new Unmappable(`The reference "${node.$ref}" leads in a circle.`)
        node = targetOf(node.$ref)
      }
      return isRecord(node) ? node : {}
    },
  }
}

function found(root: Node, reference: string): unknown {
  if (!reference.startsWith('#/'))
    throw new Unmappable(`It refers to "${reference}" in another document; put all into one first.`)
  let node: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = decode(step)
    node = (isRecord(node) || Array.isArray(node)) && Object.hasOwn(node, name) ? (node as Node)[name] : undefined
  }
  if (node === undefined) throw new Unmappable(`The reference "${reference}" leads nowhere.`)
  return node
}

function decode(step: string): string {
  let text = step
  try {
    text = decodeURIComponent(step)
  } catch {
    // Then it is meant as it is written.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** An object of a document, of which nothing is known. */
export type Node = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function recordsIn(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

export function textIn(node: Node, field: string): string | undefined {
  const value = node[field]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** Why nothing can be made of an operation, as a sentence. */
export class Unmappable extends Error {}

/** The longest name that a tool or a parameter may have. */
export const LONGEST_NAME = 64

/** Names of parameters have letters that every runtime takes, and are none that objects have of themselves. */
export function nameOf(field: string): string {
  const name = field
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^[_-]+|_+$/g, '')
    .slice(0, 60)
  if (name === '') return 'value'
  return Name.safeParse(name).success ? name : `the_${name.slice(0, 56)}`
}

/** Answers the name, with a number behind it where it is taken; from then on it is taken itself. */
export function freeNames(given: Iterable<string> = []): (name: string) => string {
  const taken = new Set(given)
  // Where counting goes on: thousands of paths may come to the same name.
  const counted = new Map<string, number>()
  return name => {
    let free = name
    let number = counted.get(name) ?? 1
    while (taken.has(free)) {
      const ending = `_${++number}`
      free = `${name.slice(0, LONGEST_NAME - ending.length)}${ending}`
    }
    counted.set(name, number)
    taken.add(free)
    return free
  }
}
