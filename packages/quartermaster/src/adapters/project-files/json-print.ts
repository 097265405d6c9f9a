/** How a text is laid out. */
export interface Layout {
  /** One level of indentation. */
  readonly unit: string
  readonly eol: string
}

// A list of short words reads best on one line, up to about here.
const LINE = 100

/** JSON over several lines, with short lists of plain values kept on one. */
export function printLines(value: unknown, layout: Layout, indent = ''): string {
  const inline = printInline(value)
  if (isPlain(value) || (Array.isArray(value) && value.every(isPlain) && indent.length + inline.length <= LINE))
    return inline
  const inner = indent + layout.unit
  const items = itemsOf(value).map(([key, item]) => `${inner}${key}${printLines(item, layout, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return items.length === 0
    ? `${open}${close}`
    : [`${open}`, items.join(`,${layout.eol}`), `${indent}${close}`].join(layout.eol)
}

/** JSON on one line, with the spaces people write. */
export function printInline(value: unknown): string {
  if (isPlain(value)) return JSON.stringify(value)
  const items = itemsOf(value).map(([key, item]) => `${key}${printInline(item)}`)
  if (Array.isArray(value)) return `[${items.join(', ')}]`
  return items.length === 0 ? '{}' : `{ ${items.join(', ')} }`
}

/** The layout that a text already has. */
export function layoutOf(text: string): Layout {
  const unit = /^([ \t]+)["{[]/m.exec(text)?.[1] ?? '  '
  return { unit, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function itemsOf(value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.map(item => ['', item])
  return Object.entries(value as object).map(([key, item]) => [`${JSON.stringify(key)}: `, item])
}
