/** A line and what ends it: `\n`, `\r\n`, or nothing at the end of a text. */
export interface Line {
  readonly text: string
  readonly end: string
}

/** The lines of a text; put together again they are the text, byte for byte. */
export function splitLines(text: string): Line[] {
  const lines: Line[] = []
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const next = newline === -1 ? text.length : newline + 1
    const cut = newline === -1 ? next : newline > start && text[newline - 1] === '\r' ? newline - 1 : newline
    lines.push({ text: text.slice(start, cut), end: text.slice(cut, next) })
    start = next
  }
  return lines
}

export function joinLines(lines: readonly Line[]): string {
  return lines.map(({ text, end }) => text + end).join('')
}

/** How this text ends its lines, for those that are added. */
export function endingOf(lines: readonly Line[]): string {
  return lines.find(({ end }) => end !== '')?.end ?? '\n'
}

/** Lines of a text that is added, ended as those around them. */
export function linesToAdd(text: string, ending: string): Line[] {
  return splitLines(text).map(line => ({ text: line.text, end: ending }))
}

/** Puts lines in before the one at `index`; a line before them that has no end gets one. */
export function insertLines(lines: readonly Line[], index: number, added: readonly Line[], ending: string): Line[] {
  const before = lines.slice(0, index)
  const last = before.at(-1)
  if (last && last.end === '') before[before.length - 1] = { text: last.text, end: ending }
  return [...before, ...added, ...lines.slice(index)]
}
