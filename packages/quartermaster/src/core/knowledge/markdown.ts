/** A line of Markdown, by its number in the text from 1 on. */
interface MarkdownLine extends BlockLine {
  /** In code or in a comment, where nothing means anything. */
  readonly isCode: boolean
  /** What of it is neither code nor comment, nor a mark of what it stands in. */
  readonly prose: string
}

/** The lines of a text, with what stands in code, fenced or indented, and in comments marked as such. */
export function markdownLines(text: string): MarkdownLine[] {
  const { lines } = markdownBlocks(text)
  return paragraphs(lines).flatMap(paragraph => {
    const prose = proseOf(paragraph.map(({ inner }) => inner).join('\n'))
    return paragraph.map((line, index) => {
      const said = prose[index] ?? ''
      const isCode = line.block === 'code' || (said.trim() === '' && line.inner.trim() !== '')
      return withProse(line, isCode, said)
    })
  })
}

// Written out, as the lines of blocks are.
function withProse({ number, text, inner, block, isFirst }: BlockLine, isCode: boolean, prose: string): MarkdownLine {
  return { number, text, inner, block, isFirst, isCode, prose }
}

/** Where something begins in a text that never ends, and takes all below it with it. */
export function unendedIn(text: string): Unended | undefined {
  return markdownBlocks(text).unended
}

/** Code and comments may go on over all lines of a paragraph, and not beyond. */
function paragraphs(lines: readonly BlockLine[]): BlockLine[][] {
  const found: BlockLine[][] = []
  for (const line of lines) {
    const last = found.at(-1)
    if (line.isFirst || !last) found.push([line])
    else last.push(line)
  }
  return found
}

/** By line. */
function proseOf(paragraph: string): string[] {
  if (!paragraph.includes('`') && !paragraph.includes('<!--')) return paragraph.split('\n')
  const pieces = inlines(paragraph)
  return pieces
    .map(({ kind, text }) => (kind === 'words' ? text : text.replace(/[^\n]+/g, '')))
    .join('')
    .split('\n')
}

/** A piece of a paragraph. */
interface Inline {
  readonly kind: 'words' | 'code' | 'comment'
  /** As it was written. */
  readonly text: string
  /** What of it is seen. */
  readonly said: string
}

const MARK = /\\[^]|`+|<!--/g

/** The pieces of a paragraph: code between as many ticks as it began with, comments, and words. */
function inlines(text: string): Inline[] {
  const pieces: Inline[] = []
  const tickEnd = createTicks(text)
  let at = 0
  let from = 0
  // Where one has no end, none behind it has.
  let hasEnd = true
  const put = (kind: Inline['kind'], end: number, said: string) => {
    if (end > at) pieces.push({ kind, text: text.slice(at, end), said })
    at = end
  }
  for (let found = markFrom(text, from); found; found = markFrom(text, from)) {
    const [mark] = found
    const start = found.index
    from = start + mark.length
    if (mark.startsWith('\\')) continue
    const isComment = mark === '<!--'
    if (isComment && !hasEnd) continue
    const end = isComment ? text.indexOf('-->', from) : tickEnd(from, mark.length)
    if (isComment) hasEnd = end >= 0
    if (end < 0) continue
    put('words', start, text.slice(at, start))
    const said = isComment ? '' : text.slice(from, end).trim()
    put(isComment ? 'comment' : 'code', end + (isComment ? '-->' : mark).length, said)
    from = at
  }
  put('words', text.length, text.slice(at))
  return pieces
}

function markFrom(text: string, from: number): RegExpExecArray | null {
  MARK.lastIndex = from
  return MARK.exec(text)
}

/** Finds the next run of exactly so many ticks. Asked from left to right. */
function createTicks(text: string): (from: number, length: number) => number {
  let runs: Map<number, number[]> | undefined
  return (from, length) => {
    runs ??= runsIn(text)
    const starts = runs.get(length) ?? []
    while (starts.length > 0 && (starts.at(-1) ?? 0) < from) starts.pop()
    return starts.at(-1) ?? -1
  }
}

/** Where runs of ticks begin, by their length, the first at the end. */
function runsIn(text: string): Map<number, number[]> {
  const runs = new Map<number, number[]>()
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].toReversed()) {
    const starts = runs.get(run.length)
    if (starts) starts.push(index)
    else runs.set(run.length, [index])
  }
  return runs
}

/** A line of Markdown, by what it belongs to. */
interface BlockLine {
  readonly number: number
  readonly text: string
  /** What stands in the block, without the marks of the quotes and list items around it. Nothing of code. */
  readonly inner: string
  readonly block: 'code' | 'blank' | 'heading' | 'underline' | 'words'
  /** Whether it begins something new, and does not go on with the line above it. */
  readonly isFirst: boolean
}

/** Where something begins that goes on to the end of the text, because what would end it never comes. */
interface Unended {
  readonly line: number
  readonly mark: string
}

/** A quote has no width; a list item has that of its mark, by which all that belongs to it is indented. */
const QUOTE = 0
/** Texts do not nest deeper, and each line is checked once per level. */
const MOST_DEEP = 50

const HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/
const FENCE = /^ {0,3}(`{3,}|~{3,})/
const ITEM = /^ {0,3}(?:[-+*]|\d{1,9}[.)])(?= |$)/
const QUOTED = /^ {0,3}>/
const COMMENT = /^ {0,3}<!--/
const RAW = /^ {0,3}<(pre|script|style|textarea)(?=[\s>]|$)/i
const RULE = /^ {0,3}[-*_]/
const INDENTED = /^ {4}/
/** Whatever has an end of its own begins with one of these. */
const OPENS = /^ {0,3}[`~<]/

/** Something that has an end of its own, whatever stands in it. */
interface Open extends Unended {
  /** Ends with the innermost of what it stands in. */
  readonly depth: number
  /** What stands behind its end, where the line has it. */
  end(line: string): string | undefined
}

/** The lines of a text and what each belongs to, as CommonMark has it. */
function markdownBlocks(whole: string): { readonly lines: BlockLine[]; readonly unended: Unended | undefined } {
  let around: readonly number[] = []
  let open: Open | undefined
  let isParagraph = false

  function read(text: string, number: number): BlockLine {
    // Written out: spreading takes longer than all the rest, and there may be a hundred thousand lines.
    const as = (block: BlockLine['block'], inner = '', isFirst = true) => ({ number, text, inner, block, isFirst })
    const within = entered(text, around)
    const isWithin = within.depth === around.length
    if (open && isWithin) {
      const behind = open.end(within.rest)
      if (behind !== undefined) open = undefined
      return behind?.trim() ? as('words', behind) : as('code')
    }
    open = undefined
    if (isParagraph && isWithin && UNDERLINE.test(within.rest)) {
      isParagraph = false
      return as('underline', within.rest, false)
    }
    const inner = begun(within, around.slice(0, within.depth), isParagraph)
    const isNew = inner.around.length > within.depth
    // Words below a paragraph go on with it, also without the marks of what it stands in.
    if (isParagraph && !isWithin && !isNew && isPlain(inner.rest)) return as('words', inner.rest, false)
    around = inner.around
    const goesOn = isParagraph && isWithin && !isNew
    isParagraph = false
    if (inner.rest.trim() === '') return as('blank')
    if (!goesOn && INDENTED.test(inner.rest)) return as('code')
    if (HEADING.test(inner.rest)) return as('heading', inner.rest)
    if (isRule(inner.rest)) return as('blank')
    const begins = opened(inner.rest)
    if (begins) {
      open = begins.isEnded ? undefined : { ...begins, line: number, depth: around.length }
      return as('code')
    }
    isParagraph = true
    return as('words', inner.rest, !goesOn)
  }

  const lines = whole.split('\n').map((raw, index) => read(raw.endsWith('\r') ? raw.slice(0, -1) : raw, index + 1))
  return { lines, unended: open && { line: open.line, mark: open.mark } }
}

interface Rest {
  readonly rest: string
  /** Where it begins in its line. */
  readonly column: number
}

/** What of a line stands within those that the line above stood in, as far as it stands in them too. */
function entered(line: string, around: readonly number[]): Rest & { readonly depth: number } {
  if (line.trim() === '') return { rest: '', column: 0, depth: depthOfBlank(around) }
  let at: Rest = { rest: spaced(line, 0), column: 0 }
  let depth = 0
  for (const width of around) {
    const next = width === QUOTE ? unquoted(at) : unindented(at, width)
    if (!next) break
    at = next
    depth += 1
  }
  return { rest: at.rest, column: at.column, depth }
}

/** A blank line belongs to a list item as it is, and ends a quote. */
function depthOfBlank(around: readonly number[]): number {
  const quote = around.indexOf(QUOTE)
  return quote < 0 ? around.length : quote
}

/** Behind the marks of the quotes and list items that begin in a line. */
function begun(within: Rest, around: number[], isParagraph: boolean): { rest: string; around: readonly number[] } {
  let at = within
  while (around.length < MOST_DEEP && !INDENTED.test(at.rest)) {
    const quoted = unquoted(at)
    const item = quoted || isRule(at.rest) ? undefined : ITEM.exec(at.rest)?.[0]
    if (quoted) {
      at = quoted
      around.push(QUOTE)
      continue
    }
    if (item === undefined) break
    const behind = at.rest.slice(item.length)
    const isEmpty = behind.trim() === ''
    // A mark alone begins nothing in the middle of a paragraph.
    if (isEmpty && isParagraph && at === within) break
    const indent = behind.length - behind.trimStart().length
    // Further away stands code, one behind the mark.
    const width = item.length + (isEmpty || indent > 4 ? 1 : indent)
    at = { rest: spaced(at.rest.slice(width), at.column + width), column: at.column + width }
    around.push(width)
  }
  return { rest: at.rest, around }
}

function unquoted({ rest, column }: Rest): Rest | undefined {
  const mark = QUOTED.exec(rest)?.[0].length
  if (mark === undefined) return undefined
  const behind = spaced(rest.slice(mark), column + mark)
  const isSpaced = behind.startsWith(' ')
  return { rest: isSpaced ? behind.slice(1) : behind, column: column + mark + (isSpaced ? 1 : 0) }
}

function unindented({ rest, column }: Rest, width: number): Rest | undefined {
  if (rest.trim() === '') return { rest: '', column }
  if (!rest.startsWith(' '.repeat(width))) return undefined
  return { rest: spaced(rest.slice(width), column + width), column: column + width }
}

/** With spaces for the tabs that it begins with, and for those behind the mark of a list item that it begins with. */
function spaced(text: string, column: number): string {
  if (!text.includes('\t')) return text
  const begins = withSpaces(text, 0, column)
  return withSpaces(begins, ITEM_MARK.exec(begins)?.[0].length ?? 0, column)
}

const ITEM_MARK = /^ {0,3}(?:[-+*]|\d{1,9}[.)])(?=[ \t])/

/** A tab goes to the next fourth column. */
function withSpaces(text: string, from: number, column: number): string {
  const tabs = /^[ \t]*/.exec(text.slice(from))?.[0] ?? ''
  let width = 0
  for (const letter of tabs) width += letter === '\t' ? 4 - ((column + from + width) % 4) : 1
  return text.slice(0, from) + ' '.repeat(width) + text.slice(from + tabs.length)
}

/** Whether a line is of words alone, and begins nothing. */
function isPlain(line: string): boolean {
  return line.trim() !== '' && !HEADING.test(line) && !isRule(line) && opened(line) === undefined
}

function isRule(line: string): boolean {
  return RULE.test(line) && /^(?:-{3,}|\*{3,}|_{3,})$/.test(line.replace(/[ \t]/g, ''))
}

/** What begins in a line and has an end of its own. */
function opened(line: string): (Pick<Open, 'mark' | 'end'> & { readonly isEnded: boolean }) | undefined {
  if (!OPENS.test(line)) return undefined
  const [whole = '', fence] = FENCE.exec(line) ?? []
  // What stands in the line with its end is code among words.
  if (fence && !(fence.startsWith('`') && line.slice(whole.length).includes('`')))
    return { mark: fence, isEnded: false, end: one => (closes(one, fence) ? '' : undefined) }
  // One that ends in its line stands among words.
  if (COMMENT.test(line) && !line.includes('-->'))
    return { mark: '<!--', isEnded: false, end: one => behind(one, '-->') }
  const raw = RAW.exec(line)?.[1]?.toLowerCase()
  if (raw === undefined) return undefined
  const end = (one: string) => behind(one.toLowerCase(), `</${raw}>`) && ''
  return { mark: `<${raw}>`, isEnded: line.toLowerCase().includes(`</${raw}>`), end }
}

/** A fence ends with one of its own kind that is as long, and with nothing behind it. */
function closes(line: string, fence: string): boolean {
  const mark = FENCE.exec(line)?.[1]
  return mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark
}

function behind(line: string, end: string): string | undefined {
  const at = line.indexOf(end)
  return at < 0 ? undefined : line.slice(at + end.length)
}

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

/** A longer paragraph with a line below it is no heading that a link leads to. */
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
