import { frontMatterOf } from './front-matter.ts'
import type { Line } from './text-lines.ts'

/** A heading and the lines below it, up to the next one of its level or above. */
export interface Heading {
  readonly level: number
  readonly title: string
  /** Its own line. */
  readonly from: number
  /** The line behind its section. */
  readonly to: number
}

/** Which lines are prose: not front matter, code, formulas or comments. What looks like a task or heading there is none. */
export function proseOf(lines: readonly Line[]): boolean[] {
  const start = (frontMatterOf(lines)?.to ?? -1) + 1
  let inside: Enclosure | undefined
  return lines.map(({ text }, index) => {
    if (index < start) return false
    if (inside) {
      if (inside.endsAt(text)) inside = undefined
      return false
    }
    inside = openedBy(text)
    return inside === undefined && !isWholeComment(text)
  })
}

/** The headings of a note, in order. */
export function headingsOf(lines: readonly Line[]): Heading[] {
  const prose = proseOf(lines)
  const found = lines.flatMap(({ text }, from) => {
    const heading = prose[from] ? parseHeading(text) : undefined
    return heading ? [{ ...heading, from }] : []
  })
  return found.map((heading, index) => {
    const next = found.slice(index + 1).find(({ level }) => level <= heading.level)
    return { ...heading, to: next?.from ?? lines.length }
  })
}

/** What encloses lines until it ends. */
interface Enclosure {
  endsAt(text: string): boolean
}

// Fences stand in quotes and lists too. Who opens one somewhere else than it closes has a strange note, and it stays as it is.
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$/

function openedBy(text: string): Enclosure | undefined {
  const [, fence = '', info = ''] = FENCE.exec(text) ?? []
  if (fence !== '' && !(fence.startsWith('`') && info.includes('`'))) return { endsAt: other => closes(fence, other) }
  const trimmed = text.trim()
  if (trimmed.startsWith('<!--') && !trimmed.includes('-->')) return { endsAt: other => other.includes('-->') }
  if (trimmed.startsWith('%%') && !trimmed.includes('%%', 2)) return { endsAt: other => other.includes('%%') }
  return trimmed === '$$' ? { endsAt: other => other.trim().endsWith('$$') } : undefined
}

function closes(fence: string, text: string): boolean {
  const bare = text.replace(/^[ \t>]+/, '').trimEnd()
  const mark = fence.charAt(0)
  return bare.length >= fence.length && [...bare].every(character => character === mark)
}

function isWholeComment(text: string): boolean {
  return /^[ \t]*(%%|<!--)/.test(text)
}

function parseHeading(text: string): Pick<Heading, 'level' | 'title'> | undefined {
  const marks = /^\uFEFF? {0,3}(#{1,6})(?=[ \t]|$)/.exec(text)
  if (!marks) return undefined
  const title = text
    .slice(marks[0].length)
    .trim()
    .replace(/(^|[ \t])#+$/, '')
    .trim()
  return { level: marks[1]?.length ?? 1, title }
}
