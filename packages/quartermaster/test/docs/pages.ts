import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the checkout. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

/** One page that people read. */
export interface Page {
  /** From the folder of the checkout, with forward slashes. */
  readonly file: string
  readonly text: string
}

/** A block between two fences. */
export interface Fence {
  /** The first word behind the opening fence: `ts`, `console`. */
  readonly language: string
  /** The `key=value` words behind it. */
  readonly marks: Readonly<Record<string, string>>
  readonly text: string
}

/** Every page: README, CONTRIBUTING, SECURITY, CHANGELOG, those of the examples and of interop, and all of `docs`. */
export function readPages(): Page[] {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, withFileTypes: true })
  const files = docs
    .filter(entry => entry.isFile() && entry.name.endsWith('.md'))
    .map(entry =>
      posix.join('docs', entry.parentPath.slice(join(ROOT, 'docs').length).replaceAll('\\', '/'), entry.name),
    )
  const others = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'examples/README.md',
    'interop/README.md',
  ]
  return [...others, ...files.sort()].map(readPage)
}

export function readPage(file: string): Page {
  return { file, text: readFileSync(join(ROOT, file), 'utf8') }
}

const FENCE = /^```(\S*) ?(.*)\n([\s\S]*?)^```$/gm

/** The fenced blocks of a page, in order. */
export function fencesOf({ text }: Page): Fence[] {
  return [...text.matchAll(FENCE)].map(([, language = '', words = '', body = '']) => ({
    language,
    marks: marksOf(words),
    text: body,
  }))
}

function marksOf(words: string): Record<string, string> {
  const pairs = words.split(' ').filter(word => word !== '')
  return Object.fromEntries(pairs.map(pair => [pair.split('=')[0] ?? '', pair.split('=')[1] ?? '']))
}

/** Everything but the fenced blocks and the inline code: what is there is shown, not meant. */
export function proseOf({ text }: Page): string {
  return text.replace(FENCE, '').replace(/`[^`\n]*`/g, '')
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf({ text }: Page): Set<string> {
  const headings = text.replace(FENCE, '').matchAll(/^#{1,6} (.+)$/gm)
  const seen = new Map<string, number>()
  const anchors = [...headings].map(([, heading = '']) => {
    const anchor = slugOf(heading)
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
  return new Set(anchors)
}

function slugOf(heading: string): string {
  const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
  return shown
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** The place a relative link means, from the folder of the checkout. */
export function targetOf(page: Page, link: string): { file: string; anchor: string } {
  const [path = '', anchor = ''] = link.split('#')
  const file = path === '' ? page.file : posix.normalize(posix.join(dirname(page.file), decodeURI(path)))
  return { file, anchor }
}

/** The rows of the first table below a line, as cells; the head is left out. */
export function tableBelow({ text }: Page, line: string): string[][] {
  const start = text.indexOf(line)
  const rows = /(?:^\|.*\n)+/m.exec(text.slice(Math.max(0, start)))?.[0] ?? ''
  return rows
    .trim()
    .split('\n')
    .slice(2)
    .map(row =>
      row
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map(cell => cell.trim()),
    )
}
