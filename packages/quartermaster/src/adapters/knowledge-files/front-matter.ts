import { isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import type { WrittenLines } from '../../core/catalogue/index.ts'

/** What stands at the head of a Markdown file and what comes after it, or what is wrong with its head. */
export type Parted =
  | { readonly front: Readonly<Record<string, unknown>>; readonly body: string; readonly lines: WrittenLines }
  | { readonly wrong: string }

const HEAD = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\r?\n|$)/
/** More anchors than a person writes are a way to make a small text large. */
const MOST_ALIASES = 20

/** Parts a text at its front matter, which is YAML between two lines of `---` at its very beginning. */
export function partFrontMatter(text: string): Parted {
  const whole = text.replace(/^\uFEFF/, '')
  const found = HEAD.exec(whole)
  if (!found)
    return {
      wrong: 'It has no front matter: begin it with a line "---", fields such as "kind: concept", and a line "---".',
    }
  const lineCounter = new LineCounter()
  const document = parseDocument(found[1] ?? '', { prettyErrors: true, uniqueKeys: true, lineCounter })
  const [error] = document.errors
  if (error) return { wrong: `Its front matter is no YAML: ${firstLine(error.message)}` }
  try {
    const front: unknown = document.toJS({ maxAliasCount: MOST_ALIASES })
    if (typeof front !== 'object' || front === null || Array.isArray(front))
      return { wrong: 'Its front matter must be fields with values, such as "kind: concept".' }
    const rest = whole.slice(found[0].length)
    const blank = rest.slice(0, rest.length - rest.trimStart().length)
    const lines = { body: lineAfter(found[0] + blank), fields: fieldLines(document.contents, lineCounter) }
    return { front: front as Record<string, unknown>, body: rest.trim(), lines }
  } catch (error) {
    return {
      wrong: `Its front matter cannot be read: ${firstLine(error instanceof Error ? error.message : String(error))}`,
    }
  }
}

function lineAfter(text: string): number {
  return text.split('\n').length
}

/** Where each field of the head stands in the file, whose first line is not part of it. */
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
