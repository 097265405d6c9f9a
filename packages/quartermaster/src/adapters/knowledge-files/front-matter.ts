import { parseDocument } from 'yaml'

/** What stands at the head of a Markdown file and what comes after it, or what is wrong with its head. */
export type Parted =
  | { readonly front: Readonly<Record<string, unknown>>; readonly body: string }
  | { readonly wrong: string }

const HEAD = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\r?\n|$)/
/** More anchors than a person writes are a way to make a small text large. */
const MOST_ALIASES = 20

/** Parts a text at its front matter, which is YAML between two lines of `---` at its very beginning. */
export function partFrontMatter(text: string): Parted {
  const found = HEAD.exec(text.replace(/^\uFEFF/, ''))
  if (!found)
    return {
      wrong: 'It has no front matter: begin it with a line "---", fields such as "kind: concept", and a line "---".',
    }
  const document = parseDocument(found[1] ?? '', { prettyErrors: true, uniqueKeys: true })
  const [error] = document.errors
  if (error) return { wrong: `Its front matter is no YAML: ${firstLine(error.message)}` }
  try {
    const front: unknown = document.toJS({ maxAliasCount: MOST_ALIASES })
    if (typeof front !== 'object' || front === null || Array.isArray(front))
      return { wrong: 'Its front matter must be fields with values, such as "kind: concept".' }
    return {
      front: front as Record<string, unknown>,
      body: text
        .replace(/^\uFEFF/, '')
        .slice(found[0].length)
        .trim(),
    }
  } catch (error) {
    return {
      wrong: `Its front matter cannot be read: ${firstLine(error instanceof Error ? error.message : String(error))}`,
    }
  }
}

/** Lines of the head are counted without the first one of the file. */
function firstLine(message: string): string {
  const line = message.split('\n')[0] ?? message
  return line.replace(
    / at line (\d+), column (\d+):?$/,
    (_, row: string, column: string) => ` (line ${Number(row) + 1}, column ${column}).`,
  )
}
