import { escapeLine } from './visible-text.ts'

/** A text in a line of its own: whoever wrote it, it ends there. */
export function line(text: string): string {
  return escapeLine(text).replace(/\s+/g, ' ').trim()
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/

/** What would make a heading: number signs, or a line under the one before it. */
const HEADING = /^(\s{0,3})(?=#|=+\s*$|-+\s*$)/

/** A text of several lines that makes no headings and leaves no code open: where a section begins and ends is ours to say. */
export function paragraphs(text: string): string {
  let open: string | undefined
  const lines = text
    .trim()
    .split(/\r\n|\r|\n/)
    .map(raw => {
      const one = escapeLine(raw.replaceAll('\t', '    '))
      const [, mark] = FENCE.exec(one) ?? []
      if (open !== undefined) {
        if (mark !== undefined && closes(one, mark, open)) open = undefined
        return one
      }
      // What stands in the line with its end is code among words.
      if (mark === undefined || (mark.startsWith('`') && one.trim().slice(mark.length).includes('`')))
        return one.replace(HEADING, '$1\\')
      open = mark
      return one
    })
  return [...lines, ...(open === undefined ? [] : [open])].join('\n')
}

/** A fence ends with one of its own kind that is as long, and with nothing behind it. */
function closes(one: string, mark: string, open: string): boolean {
  return mark[0] === open[0] && mark.length >= open.length && one.trim() === mark
}
