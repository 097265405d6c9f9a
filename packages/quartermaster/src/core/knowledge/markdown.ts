import { type BlockLine, markdownBlocks, type Unended } from './markdown-blocks.ts'
import { inlines } from './markdown-inlines.ts'

/** A line of Markdown, by its number in the text from 1 on. */
export interface MarkdownLine extends BlockLine {
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
