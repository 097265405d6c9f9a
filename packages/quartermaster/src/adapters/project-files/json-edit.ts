import { isDeepStrictEqual } from 'node:util'
import { applyEdits, type Edit, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'
import type { Path } from './faults.ts'

// jsonc-parser's own `modify` is not used: removing the only property before a trailing comma leaves `{,}`, removing any
// takes the neighbours' comments along, and an insertion reformats the whole line it lands on.

/** Takes one step in the text of a JSON document and leaves everything around it as it was written. */
export function applyChange(text: string, change: JsonChange): string {
  const root = parseTree(text, [], { allowTrailingComma: true })
  return root ? applyEdits(text, editsFor(text, root, change)) : text
}

function editsFor(text: string, root: Node, change: JsonChange): Edit[] {
  if (change.kind === 'insert')
    return insertion(text, nodeAt(root, change.path), { index: change.index, prefix: '', value: change.value })
  const node = findNodeAtLocation(root, [...change.path])
  const container = nodeAt(root, change.path.slice(0, -1))
  if (change.kind === 'remove') return node ? removal(text, container, itemOf(node)) : []
  if (node)
    return [
      {
        offset: node.offset,
        length: node.length,
        content: print(text, container, { at: node.offset, value: change.value }),
      },
    ]
  const prefix = `${JSON.stringify(change.path.at(-1))}: `
  return insertion(text, container, { index: elementsOf(container).length, prefix, value: change.value })
}

function nodeAt(root: Node, path: Path): Node {
  const node = findNodeAtLocation(root, [...path])
  if (!node) throw new Error(`there is nothing at "${path.join('.')}"`)
  return node
}

/** The item of its container: a property with its name, or an element itself. */
function itemOf(node: Node): Node {
  return node.parent?.type === 'property' ? node.parent : node
}

function elementsOf(container: Node): readonly Node[] {
  return container.children ?? []
}

function print(text: string, container: Node, { at, value }: { at: number; value: unknown }): string {
  return isInline(text, container) ? printInline(value) : printLines(value, layoutOf(text), indentAt(text, at))
}

function isInline(text: string, container: Node): boolean {
  // An empty container opens up when the rest of the text stands on lines.
  const range = elementsOf(container).length === 0 ? text.trim() : text.slice(container.offset, endOf(container))
  return !range.includes('\n')
}

interface Insertion {
  readonly index: number
  /** The property's name and colon; nothing in a list. */
  readonly prefix: string
  readonly value: unknown
}

function insertion(text: string, container: Node, item: Insertion): Edit[] {
  const items = elementsOf(container)
  const previous = items[item.index - 1]
  const [first] = items
  if (previous) return insertAfter(text, container, previous, item)
  return first ? [insertBefore(text, container, first, item)] : [insertFirst(text, container, item)]
}

function insertAfter(text: string, container: Node, previous: Node, { prefix, value }: Insertion): Edit[] {
  const end = endOf(previous)
  const comma = commaAfter(text, end)
  const content = `${prefix}${print(text, container, { at: previous.offset, value })}`
  if (isInline(text, container))
    return [comma === undefined ? insert(end, `, ${content}`) : insert(comma + 1, ` ${content},`)]
  const line = `${layoutOf(text).eol}${indentAt(text, previous.offset)}${content}`
  // Behind the comments on that line, because they belong to what already stands there.
  if (comma !== undefined) return [insert(endOfRemarks(text, comma + 1), `${line},`)]
  return [insert(end, ','), insert(endOfRemarks(text, end), line)]
}

function insertBefore(text: string, container: Node, first: Node, { prefix, value }: Insertion): Edit {
  const content = `${prefix}${print(text, container, { at: first.offset, value })},`
  return insert(
    first.offset,
    isInline(text, container) ? `${content} ` : `${content}${layoutOf(text).eol}${indentAt(text, first.offset)}`,
  )
}

function insertFirst(text: string, container: Node, { prefix, value }: Insertion): Edit {
  const inner = text.slice(container.offset + 1, endOf(container) - 1)
  const kept = inner.trimEnd()
  const range = { offset: container.offset + 1 + kept.length, length: inner.length - kept.length }
  if (isInline(text, container)) {
    const space = container.type === 'object' ? ' ' : ''
    return { ...range, content: `${kept === '' ? space : ' '}${prefix}${printInline(value)}${space}` }
  }
  const { unit, eol } = layoutOf(text)
  const base = indentAt(text, container.offset)
  const content = `${prefix}${printLines(value, { unit, eol }, base + unit)}`
  return { ...range, content: `${eol}${base}${unit}${content}${eol}${base}` }
}

function removal(text: string, container: Node, item: Node): Edit[] {
  const comma = commaAfter(text, endOf(item))
  const stop = comma === undefined ? endOf(item) : comma + 1
  const items = elementsOf(container)
  const around = text.slice(container.offset + 1, item.offset) + text.slice(stop, endOf(container) - 1)
  if (items.length === 1 && around.trim() === '')
    return [{ offset: container.offset + 1, length: container.length - 2, content: '' }]
  const gone = cutOut(text, item.offset, stop)
  const previous = items[items.indexOf(item) - 1]
  const orphan = comma === undefined && previous ? commaAfter(text, endOf(previous)) : undefined
  return orphan === undefined ? [gone] : [cut(orphan, orphan + 1), gone]
}

/** Takes the whole lines when nothing else stands on them, with the remarks behind it; otherwise just the item and one gap. */
function cutOut(text: string, start: number, stop: number): Edit {
  const lead = start - spacesBefore(text, start)
  const remarks = endOfRemarks(text, stop)
  const lineEnd = /^[ \t]*\r?\n/.exec(text.slice(remarks))?.[0].length
  const startsLine = lead === 0 || text[lead - 1] === '\n'
  if (startsLine && lineEnd !== undefined) return cut(lead, remarks + lineEnd)
  const hasNext = text[stop - 1] === ','
  return hasNext ? cut(start, stop + spacesAfter(text, stop)) : cut(lead, stop)
}

function cut(from: number, to: number): Edit {
  return { offset: from, length: to - from, content: '' }
}

function spacesBefore(text: string, offset: number): number {
  return offset - text.slice(0, offset).replace(/[ \t]+$/, '').length
}

function spacesAfter(text: string, offset: number): number {
  return /^[ \t]*/.exec(text.slice(offset))?.[0].length ?? 0
}

function insert(offset: number, content: string): Edit {
  return { offset, length: 0, content }
}

function endOf(node: Node): number {
  return node.offset + node.length
}

function indentAt(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? ''
}

const COMMENT = String.raw`\/\/[^\r\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/`

/** Where the next comma stands, if nothing but white space and comments comes before it. */
function commaAfter(text: string, offset: number): number | undefined {
  const place = skip(text, offset, new RegExp(String.raw`\s+|${COMMENT}`, 'y'))
  return text[place] === ',' ? place : undefined
}

/** Where the comments on the rest of the line end; `offset` itself when something else stands there too. */
function endOfRemarks(text: string, offset: number): number {
  const place = skip(text, offset, new RegExp(String.raw`[ \t]+|${COMMENT}`, 'y'))
  const lineEnds = place === text.length || /[\r\n]/.test(text[place] ?? '')
  return lineEnds ? offset + text.slice(offset, place).trimEnd().length : offset
}

function skip(text: string, offset: number, trivia: RegExp): number {
  let place = offset
  for (;;) {
    trivia.lastIndex = place
    const match = trivia.exec(text)
    if (!match) return place
    place += match[0].length
  }
}

/** One edit. Edits are applied in order, each to the result of the previous one. */
type JsonChange =
  | { readonly kind: 'set'; readonly path: Path; readonly value: unknown }
  | { readonly kind: 'insert'; readonly path: Path; readonly index: number; readonly value: unknown }
  | { readonly kind: 'remove'; readonly path: Path }

interface Versions {
  /** The value of the text. */
  readonly written: unknown
  /** The same with defaults filled in, as the editor saw it. */
  readonly before: unknown
  readonly after: unknown
}

/** The smallest steps that make the written value say what `after` says. An unchanged default is not written down. */
export function changesBetween(versions: Versions, path: Path = []): JsonChange[] {
  const { written, before, after } = versions
  if (isDeepStrictEqual(before, after) || isDeepStrictEqual(written, after)) return []
  if (isRecord(written) && isRecord(after)) return objectChanges(written, isRecord(before) ? before : {}, after, path)
  if (Array.isArray(written) && Array.isArray(after)) return listChanges(written, after, path)
  return [{ kind: 'set', path, value: after }]
}

type JsonRecord = Readonly<Record<string, unknown>>

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectChanges(written: JsonRecord, before: JsonRecord, after: JsonRecord, path: Path): JsonChange[] {
  const gone = Object.keys(written).filter(key => !Object.hasOwn(after, key))
  const removals = gone.map((key): JsonChange => ({ kind: 'remove', path: [...path, key] }))
  const kept = Object.keys(after).flatMap(key =>
    changesBetween(versionsOf(key, written, before, after), [...path, key]),
  )
  return [...removals, ...kept]
}

function versionsOf(key: string, written: JsonRecord, before: JsonRecord, after: JsonRecord): Versions {
  const own = (record: JsonRecord) => (Object.hasOwn(record, key) ? record[key] : undefined)
  return { written: own(written), before: own(before), after: own(after) }
}

function listChanges(written: readonly unknown[], after: readonly unknown[], path: Path): JsonChange[] {
  const shorter = Math.min(written.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(written[start], after[start])) start++
  let tail = 0
  while (tail < shorter - start && isDeepStrictEqual(written.at(-1 - tail), after.at(-1 - tail))) tail++
  const old = written.slice(start, written.length - tail)
  const fresh = after.slice(start, after.length - tail)
  const pairs = Math.min(old.length, fresh.length)
  return [
    ...old
      .slice(0, pairs)
      .flatMap((item, i) => changesBetween({ written: item, before: item, after: fresh[i] }, [...path, start + i])),
    // From the end, so that the earlier indices still hold.
    ...old.slice(pairs).map((_, i): JsonChange => ({ kind: 'remove', path: [...path, start + old.length - 1 - i] })),
    ...fresh.slice(pairs).map((value, i): JsonChange => ({ kind: 'insert', path, index: start + pairs + i, value })),
  ]
}

/** How a text is laid out. */
interface Layout {
  /** One level of indentation. */
  readonly unit: string
  readonly eol: string
}

// A list of short words reads best on one line, up to about here.
const LINE = 100

/** JSON over several lines, with short lists of plain values kept on one. */
export function printLines(value: unknown, layout: Layout, indent = ''): string {
  const inline = printInline(value)
  if (isPlain(value) || (Array.isArray(value) && value.every(isPlain) && indent.length + inline.length <= LINE))
    return inline
  const inner = indent + layout.unit
  const items = itemsOf(value).map(([key, item]) => `${inner}${key}${printLines(item, layout, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return items.length === 0
    ? `${open}${close}`
    : [`${open}`, items.join(`,${layout.eol}`), `${indent}${close}`].join(layout.eol)
}

/** JSON on one line, with the spaces people write. */
function printInline(value: unknown): string {
  if (isPlain(value)) return JSON.stringify(value)
  const items = itemsOf(value).map(([key, item]) => `${key}${printInline(item)}`)
  if (Array.isArray(value)) return `[${items.join(', ')}]`
  return items.length === 0 ? '{}' : `{ ${items.join(', ')} }`
}

/** The layout that a text already has. */
function layoutOf(text: string): Layout {
  const unit = /^([ \t]+)["{[]/m.exec(text)?.[1] ?? '  '
  return { unit, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function itemsOf(value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.map(item => ['', item])
  return Object.entries(value as object).map(([key, item]) => [`${JSON.stringify(key)}: `, item])
}
