import { CODE_SPAN, type MarkdownLine, markdownLines } from './markdown.ts'

const HEADING = /^ {0,3}#{1,6}(?:[ \t]+|$)/
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/
/** Nothing of the kind is a paragraph, which alone can be underlined. */
const NO_PARAGRAPH = /^[ \t]*(?:[-+*>|]|\d{1,9}[.)])[ \t]/

/** The headings of a text, without their marks: behind `#`, or above a line of `=` or `-`. */
export function headingsOf(text: string): string[] {
  return headingsIn(markdownLines(text))
}

function headingsIn(lines: readonly MarkdownLine[]): string[] {
  const headings: string[] = []
  let paragraph: string[] = []
  for (const { text, isCode, prose } of lines) {
    const isHeading = !isCode && HEADING.test(text)
    const heading = isHeading ? closed(text.replace(HEADING, '')) : underlined(paragraph, text)
    if (heading !== '') headings.push(heading)
    const goesOn = !isCode && !isHeading && heading === '' && prose.trim() !== '' && !NO_PARAGRAPH.test(text)
    paragraph = goesOn ? [...paragraph.slice(-MOST_LINES), text.trim()] : []
  }
  return headings
}

/** A longer paragraph with a line below it is none that anybody links to. */
const MOST_LINES = 10

/** Without the marks that may also stand behind it. */
function closed(heading: string): string {
  return heading.replace(/(?:^|[ \t]+)#+[ \t]*$/, '').trim()
}

function underlined(paragraph: readonly string[], line: string): string {
  return UNDERLINE.test(line) ? paragraph.join(' ') : ''
}

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
  for (const { prose } of lines) for (const [, name = ''] of prose.matchAll(NAMED)) found.add(name.normalize('NFC'))
  return found
}

const NAMED = /<[a-z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s<>]+)/gi

function anchorOf(heading: string): string {
  return spoken(heading)
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\s-]/gu, '')
    .replace(/\s/g, '-')
}

/** What is seen of a heading: of a link its words, and of marks nothing. Code stands as it is. */
function spoken(heading: string): string {
  let text = ''
  let at = 0
  for (const span of heading.matchAll(CODE_SPAN)) {
    text += spokenWords(heading.slice(at, span.index)) + (span[2] ?? '').trim()
    at = span.index + span[0].length
  }
  return text + spokenWords(heading.slice(at))
}

function spokenWords(text: string): string {
  return text
    .replace(/!\[[^[\]]*\]\([^()]*\)/g, '')
    .replace(/(?<!\\)\[([^[\]]*)\](?:\([^()]*\)|\[[^[\]]*\])/g, '$1')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(?:amp|lt|gt|quot|nbsp|#\d{1,7});/gi, '')
    .replace(/(?<![\p{L}\p{N}\\_])(_{1,3})(?=[^\s_])([^_]*[^\s_])\1(?![\p{L}\p{N}_])/gu, '$2')
}
