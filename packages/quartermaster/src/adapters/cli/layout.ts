import { escapeLine, escapeProse } from './escape.ts'
import type { Frame } from './table.ts'
import { displayWidth, padEnd, wrap } from './width.ts'

/** A paragraph, indented and broken to the frame. Escaped. */
export function paragraph(text: string, { width }: Frame, indent = ''): string {
  const block = escapeProse(text).replace(/\n+$/, '')
  const lines = width === undefined ? block.split('\n') : wrap(block, width - displayWidth(indent))
  return `${lines.map(line => (line === '' ? '' : indent + line)).join('\n')}\n`
}

/** Names with their values beside them, aligned. Escaped; a value that is absent leaves its line out. */
export function fields(entries: readonly (readonly [name: string, value: string | undefined])[], frame: Frame): string {
  const present = entries.filter(
    (entry): entry is readonly [string, string] => entry[1] !== undefined && entry[1] !== '',
  )
  const column = Math.max(0, ...present.map(([name]) => displayWidth(name))) + 2
  return present.map(([name, value]) => field(name, value, column, frame)).join('')
}

/** `1 tool`, `2 tools`, `3 capabilities`. */
export function count(amount: number, noun: string): string {
  return `${amount} ${amount === 1 ? noun : `${noun}s`.replace(/ys$/, 'ies')}`
}

function field(name: string, value: string, column: number, { paint, width }: Frame): string {
  const text = escapeLine(value)
  const lines = width === undefined ? [text] : wrap(text, width - column)
  const head = paint.dim(name) + ' '.repeat(column - displayWidth(name))
  return lines.map((line, i) => `${i === 0 ? head : padEnd('', column)}${line}\n`).join('')
}
