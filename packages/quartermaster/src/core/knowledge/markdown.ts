/** A line of Markdown, by its number in the text from 1 on. */
export interface MarkdownLine {
  readonly number: number
  readonly text: string
  /** Between fences, where nothing means anything. */
  readonly isCode: boolean
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/

/** The lines of a text, fenced code marked as such. */
export function markdownLines(text: string): MarkdownLine[] {
  let fence: string | undefined
  return text.split('\n').map((raw, index) => {
    const line = raw.replace(/\r$/, '')
    const [, mark] = FENCE.exec(line) ?? []
    const wasOpen = fence !== undefined
    if (mark !== undefined && fence === undefined) fence = mark
    else if (mark !== undefined && fence !== undefined && closes(line, mark, fence)) fence = undefined
    return { number: index + 1, text: line, isCode: wasOpen || mark !== undefined }
  })
}

/** A fence ends with one of its own kind that is as long, and with nothing behind it. */
function closes(line: string, mark: string, open: string): boolean {
  return mark[0] === open[0] && mark.length >= open.length && line.trim() === mark
}

/** The headings of a text, without their marks. */
export function headingsOf(text: string): string[] {
  return markdownLines(text).flatMap(({ text: line, isCode }) => {
    const [, heading] = isCode ? [] : (/^ {0,3}#{1,6}\s+(.*?)\s*#*$/.exec(line) ?? [])
    return heading ? [heading] : []
  })
}

/** What a heading is linked to by, as GitHub and others have it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

/** A link in a text to a place in the same folder of files, or in the same text. */
export interface LocalLink {
  readonly target: string
  /** Without the `#`. */
  readonly anchor: string | undefined
  readonly line: number
}

// In angle brackets it may have spaces, and outside of them brackets that are closed again.
const TARGET = String.raw`(?:<([^<>]*)>|((?:[^\s()<>]|\([^\s()]*\))+))`
const LINK = new RegExp(
  String.raw`\[[^\]]*\]\(\s*${TARGET}(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)|^ {0,3}\[[^\]]+\]:\s*${TARGET}`,
  'g',
)

/** The links of a text that lead neither to another server nor to an address of any other kind. */
export function localLinks(text: string): LocalLink[] {
  return markdownLines(text).flatMap(({ text: line, number, isCode }) => {
    if (isCode) return []
    const prose = line.replace(/`[^`]*`/g, '')
    return [...prose.matchAll(LINK)].flatMap(([, ...targets]) => {
      const address = targets.find(target => target !== undefined) ?? ''
      if (address === '' || /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address)) return []
      const [place = '', anchor] = address.split('#')
      // What is asked behind a question mark changes nothing about where the file is.
      const [target = ''] = place.split('?')
      return [{ target: decoded(target), anchor, line: number }]
    })
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not written in percent signs, so it is meant as it stands.
    return text
  }
}
