/** A line of Markdown, by its number in the text from 1 on. */
export interface MarkdownLine {
  readonly number: number
  readonly text: string
  /** In code or in a comment, where nothing means anything. */
  readonly isCode: boolean
  /** What of it is neither code nor comment. */
  readonly prose: string
}

/** The lines of a text, with what stands in code, fenced or indented, and in comments marked as such. */
export function markdownLines(text: string): MarkdownLine[] {
  const isFenced = createFences()
  const isIndented = createIndents()
  let isComment = false
  return text.split('\n').map((raw, index) => {
    const line = { number: index + 1, text: raw.replace(/\r$/, '') }
    if (!isComment && (isFenced(line.text) || isIndented(line.text))) return { ...line, isCode: true, prose: '' }
    const wasComment = isComment
    const said = withoutComments(wasComment ? line.text : withoutCode(line.text), wasComment)
    isComment = said.isOpen
    return { ...line, isCode: wasComment && isComment, prose: said.prose }
  })
}

const FENCE = /^[ \t]*(`{3,}|~{3,})/

/** Says of one line after the other whether it is fenced. */
function createFences(): (line: string) => boolean {
  let open: string | undefined
  return line => {
    const [, mark] = FENCE.exec(line) ?? []
    if (open === undefined) {
      // What stands in the line with its end is code among words.
      if (mark?.startsWith('`') && line.trim().slice(mark.length).includes('`')) return false
      open = mark
      return mark !== undefined
    }
    // It ends with one of its own kind that is as long, and with nothing behind it.
    if (mark !== undefined && mark[0] === open[0] && mark.length >= open.length && line.trim() === mark)
      open = undefined
    return true
  }
}

const LIST_ITEM = /^[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+(?=\S)/

/** Says of one line after the other whether it is code because it is indented: by four more than what it may belong to. */
function createIndents(): (line: string) => boolean {
  /** Where the text of the list item begins that a line may belong to. */
  let item = 0
  let isAfterBlank = true
  let isAfterCode = false
  return line => {
    if (line.trim() === '') {
      isAfterBlank = true
      return false
    }
    const indent = columns(/^[ \t]*/.exec(line)?.[0] ?? '')
    const begins = LIST_ITEM.exec(line)?.[0]
    // What follows a blank line and is not indented belongs to no list.
    if (isAfterBlank && indent === 0) item = 0
    const isCode = (isAfterBlank || isAfterCode) && indent >= item + 4
    if (!isCode && begins !== undefined) item = columns(begins)
    isAfterBlank = false
    isAfterCode = isCode
    return isCode
  }
}

/** A tab goes to the next fourth column. */
function columns(text: string): number {
  let column = 0
  for (const letter of text) column += letter === '\t' ? 4 - (column % 4) : 1
  return column
}

/** Code among words: between as many ticks as it began with. */
export const CODE_SPAN = /(?<![`\\])(`+)(?!`)(.*?)(?<!`)\1(?!`)/g

function withoutCode(line: string): string {
  return line.includes('`') ? line.replace(CODE_SPAN, '') : line
}

function withoutComments(line: string, isOpen: boolean): { readonly prose: string; readonly isOpen: boolean } {
  let prose = ''
  for (let at = 0, within = isOpen; ; within = !within) {
    const mark = within ? '-->' : '<!--'
    const next = line.indexOf(mark, at)
    if (!within) prose += line.slice(at, next < 0 ? undefined : next)
    if (next < 0) return { prose, isOpen: within }
    at = next + mark.length
  }
}
