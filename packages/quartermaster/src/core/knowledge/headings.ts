import { type MarkdownLine, markdownLines } from './markdown.ts'
import { inlines } from './markdown-inlines.ts'

/** The headings of a text, without their marks and without comments: behind `#`, or above a line of `=` or `-`. */
export function headingsOf(text: string): string[] {
  return headingsIn(markdownLines(text))
}

function headingsIn(lines: readonly MarkdownLine[]): string[] {
  const headings: string[] = []
  let paragraph: string[] = []
  for (const { block, inner, isFirst } of lines) {
    if (isFirst) paragraph = []
    if (block === 'words') paragraph = [...paragraph.slice(-MOST_LINES), inner.trim()]
    const written = block === 'underline' ? paragraph.join(' ') : block === 'heading' ? unmarked(inner) : ''
    const heading = withoutComments(written)
    if (heading !== '') headings.push(heading)
  }
  return headings
}

/** A longer paragraph with a line below it is none that anybody links to. */
const MOST_LINES = 10

/** Without the marks before it, and without those that may also stand behind it. */
function unmarked(line: string): string {
  const text = line.trim().replace(/^#+/, '')
  let end = text.length
  while (text[end - 1] === '#') end -= 1
  // What ends a word belongs to it.
  const isMark = end < text.length && (end === 0 || text[end - 1] === ' ' || text[end - 1] === '\t')
  return (isMark ? text.slice(0, end) : text).trim()
}

function withoutComments(heading: string): string {
  if (!heading.includes('<!--')) return heading
  const seen = inlines(heading).filter(({ kind }) => kind !== 'comment')
  return seen
    .map(({ text }) => text)
    .join('')
    .trim()
}

/** As anchors are compared: what a browser is asked for may be written in either case and form. */
export const plainAnchor = (anchor: string): string => anchor.normalize('NFC').toLowerCase()

/** All that can be linked to in a text, as GitHub and others have it: its headings, and what has a name in HTML. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const lines = markdownLines(text)
  const found = new Set<string>()
  const counts = new Map<string, number>()
  for (const heading of headingsIn(lines)) {
    const first = anchorOf(heading)
    let anchor = first
    // Of equal ones, each later has a number.
    for (let count = counts.get(first) ?? 0; found.has(anchor); anchor = `${first}-${count}`)
      counts.set(first, (count += 1))
    found.add(anchor)
  }
  for (const { prose } of lines) for (const [, name = ''] of prose.matchAll(NAMED)) found.add(plainAnchor(name))
  return found
}

const NAMED = /<[a-z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s<>]+)/gi

function anchorOf(heading: string): string {
  return plainAnchor(spoken(heading))
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\s-]/gu, '')
    .replace(/\s/g, '-')
}

/** What is seen of a heading: of a link its words, and of marks nothing. Code stands as it is. */
function spoken(heading: string): string {
  return inlines(heading)
    .map(({ kind, said }) => (kind === 'words' ? spokenWords(said) : said))
    .join('')
}

function spokenWords(text: string): string {
  return text
    .replace(/!\[[^[\]]*\]\((?:[^()]|\([^()]*\))*\)/g, '')
    .replace(/(?<!\\)\[([^[\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])/g, '$1')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(?:[a-z][a-z0-9]*|#\d{1,7}|#x[0-9a-f]{1,6});/gi, '')
    .replace(/(?<![\p{L}\p{N}\\_])(_{1,3})(?=[^\s_])([^_]*[^\s_])\1(?![\p{L}\p{N}_])/gu, '$2')
}
