import { type Document, isMap, isScalar, LineCounter, parseDocument, visit, type YAMLMap } from 'yaml'
import type { WrittenLines } from '../../core/catalogue/index.ts'

/** The front matter and the body of a Markdown file, or what is wrong with the front matter. */
export type Parted =
  | { readonly front: Readonly<Record<string, unknown>>; readonly body: string; readonly lines: WrittenLines }
  | { readonly wrong: string; readonly line?: number | undefined }

const HEAD = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/
/** A long declaration has a few thousand. Parsing blocks other work. */
export const MOST_HEAD_CHARACTERS = 65_536
/** Each wrong field is reported, and there are fewer known ones. */
const MOST_FIELDS = 100
/** Aliases can make a small text large. */
const MOST_ALIASES = 20
/** Reported by the parser or as a stack overflow. */
const TOO_DEEP = 'Its front matter is nested deeper than can be read.'

/** Splits a text into front matter, which is YAML between two lines `---` at the beginning, and body. */
export function partFrontMatter(text: string): Parted {
  try {
    return part(text)
  } catch (error) {
    if (error instanceof RangeError) return { wrong: TOO_DEEP }
    throw error
  }
}

function part(text: string): Parted {
  const whole = text.replace(/^\uFEFF/, '')
  const found = HEAD.exec(whole)
  if (!found && /^---[ \t]*\r?\n/.test(whole))
    return { wrong: 'Its front matter has no end: put a line "---" below its fields.' }
  if (!found)
    return {
      wrong: 'It has no front matter: begin it with a line "---", fields such as "kind: concept", and a line "---".',
    }
  const [matched, head = ''] = found
  if (head.length > MOST_HEAD_CHARACTERS)
    return { wrong: `Its front matter has more than ${MOST_HEAD_CHARACTERS} characters. Put the text below it.` }
  const lineCounter = new LineCounter()
  // Duplicate fields are found here, because the parser takes quadratic time for it.
  const document = parseDocument(head, { prettyErrors: true, uniqueKeys: false, lineCounter })
  const [error] = document.errors
  if (error) {
    if (/call stack/i.test(error.message)) return { wrong: TOO_DEEP }
    const line = error.linePos?.[0].line
    return {
      wrong: `Its front matter is no YAML: ${firstLine(error.message)}`,
      line: line === undefined ? undefined : line + 1,
    }
  }
  const duplicate = duplicateField(document, lineCounter)
  if (duplicate) return duplicate
  try {
    const front: unknown = document.toJS({ maxAliasCount: MOST_ALIASES })
    if (typeof front !== 'object' || front === null || Array.isArray(front))
      return { wrong: 'Its front matter must be fields with values, such as "kind: concept".' }
    if (Object.keys(front).length > MOST_FIELDS)
      return { wrong: `Its front matter has more than ${MOST_FIELDS} fields.` }
    const rest = whole.slice(matched.length)
    const blank = rest.slice(0, rest.length - rest.trimStart().length)
    const lines = { body: lineAfter(matched + blank), fields: fieldLines(document.contents, lineCounter) }
    return { front: front as Record<string, unknown>, body: rest.trim(), lines }
  } catch (error) {
    if (error instanceof RangeError) throw error
    return {
      wrong: `Its front matter cannot be read: ${firstLine(error instanceof Error ? error.message : String(error))}`,
    }
  }
}

/** Finds a duplicate field at any depth. */
function duplicateField(document: Document, counter: LineCounter): Parted | undefined {
  let twice: Parted | undefined
  visit(document, {
    Map(_key, map: YAMLMap) {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        if (seen.has(key.value)) {
          const line = key.range ? counter.linePos(key.range[0]).line + 1 : undefined
          twice = { wrong: `Its front matter says "${String(key.value)}" twice.`, line }
          return visit.BREAK
        }
        seen.add(key.value)
      }
      return undefined
    },
  })
  return twice
}

function lineAfter(text: string): number {
  return text.split('\n').length
}

/** The line of each field in the file. The first line of the file is not part of the front matter. */
function fieldLines(contents: unknown, counter: LineCounter): Record<string, number> {
  const pairs = isMap(contents) ? contents.items : []
  const lines = pairs.flatMap(({ key }) =>
    isScalar(key) && key.range ? [[String(key.value), counter.linePos(key.range[0]).line + 1] as const] : [],
  )
  return Object.fromEntries(lines)
}

/** Lines of the head are counted without the first one of the file. */
function firstLine(message: string): string {
  const line = message.split('\n')[0] ?? message
  return line.replace(
    / at line (\d+), column (\d+):?$/,
    (_, row: string, column: string) => ` (line ${Number(row) + 1}, column ${column}).`,
  )
}
