import { escapeLine } from '../../core/kernel/index.ts'

/** A text in a line of its own: whoever wrote it, it ends there. */
export function line(text: string): string {
  return escapeLine(text).replace(/\s+/g, ' ').trim()
}

/** A text of several lines that makes no headings: where a section begins is ours to say. */
export function paragraphs(text: string): string {
  const lines = text.trim().split(/\r\n|\r|\n/)
  return lines.map(one => escapeLine(one).replace(/^(\s{0,3})(?=#|=+\s*$|-+\s*$)/, '$1\\')).join('\n')
}

/** `a`, `b` and `c`. */
export function listed(names: readonly string[]): string {
  const quoted = names.map(name => `\`${name}\``)
  const last = quoted.at(-1) ?? ''
  return quoted.length < 2 ? last : `${quoted.slice(0, -1).join(', ')} and ${last}`
}

/** Blocks with an empty line between them, and one LF at the end. */
export function document(blocks: readonly (string | undefined)[]): string {
  return `${blocks.filter(block => block !== undefined && block !== '').join('\n\n')}\n`
}
