import { Composer, type CST, type Document, Lexer, LineCounter, Parser, visit, YAMLParseError } from 'yaml'
import type { Steps } from '../../core/kernel/index.ts'

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
export function* readYaml(text: string): Steps<unknown> {
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
