import { fold } from '../shared/fold.ts'
import { frontMatterOf } from './front-matter.ts'
import { headingsOf } from './markdown.ts'
import { baseName, withoutEnding } from './note-name.ts'
import { joinLines, splitLines } from './text-lines.ts'

/** A note that has words that were looked for. */
export interface Ranked {
  readonly path: string
  /** How many of the words it has. */
  readonly words: number
  readonly score: number
  readonly lines: readonly { readonly line: number; readonly text: string }[]
}

// A name says what a note is about, a heading what a part of it is, and a word that comes up often not much more than one
// that comes up a few times.
const POINTS = { wholeName: 20, name: 10, frontMatter: 4, heading: 3, text: 1 } as const
const MOST_COUNTED = 5
const MOST_WORDS = 20
const MOST_LINES = 3
const SHOWN = 240
// What stands further down in a note of this length does not say what it is about.
const MOST_CHARACTERS = 1024 * 1024

/** The words of a query, each once, in the form that all spellings share. */
export function wordsOf(query: string): string[] {
  const words = fold(query).split(/[\s,;]+/u)
  return [...new Set(words.filter(word => word !== ''))].slice(0, MOST_WORDS)
}

/** What a note is worth for these words; nothing when it has none of them. */
export function rankNote({ path, text }: { path: string; text: string }, words: readonly string[]): Ranked | undefined {
  const whole = fold(text.slice(0, MOST_CHARACTERS))
  const way = fold(withoutEnding(path))
  const there = words.filter(word => way.includes(word) || whole.includes(word))
  if (there.length === 0) return undefined
  const lines = splitLines(text.slice(0, MOST_CHARACTERS))
  const matter = frontMatterOf(lines)
  const parts: Parts = {
    name: fold(baseName(path)),
    way,
    frontMatter: matter ? fold(joinLines(lines.slice(matter.from, matter.to))) : '',
    headings: fold(
      headingsOf(lines)
        .map(({ title }) => title)
        .join('\n'),
    ),
    text: whole,
  }
  const score = there.reduce((sum, word) => sum + pointsOf(word, parts), 0)
  return { path, words: there.length, score, lines: linesWith(lines, there) }
}

interface Parts {
  readonly name: string
  readonly way: string
  readonly frontMatter: string
  readonly headings: string
  readonly text: string
}

function pointsOf(word: string, { name, way, frontMatter, headings, text }: Parts): number {
  const named = name === word ? POINTS.wholeName : way.includes(word) ? POINTS.name : 0
  const described = frontMatter.includes(word) ? POINTS.frontMatter : 0
  const headed = headings.includes(word) ? POINTS.heading : 0
  return named + described + headed + countOf(word, text) * POINTS.text
}

function countOf(word: string, text: string): number {
  let count = 0
  for (let at = text.indexOf(word); at !== -1 && count < MOST_COUNTED; at = text.indexOf(word, at + word.length))
    count++
  return count
}

function linesWith(lines: readonly { readonly text: string }[], words: readonly string[]): Ranked['lines'] {
  const found: { line: number; text: string }[] = []
  for (const [index, { text }] of lines.entries()) {
    const folded = fold(text)
    if (words.some(word => folded.includes(word))) found.push({ line: index + 1, text: cut(text) })
    if (found.length === MOST_LINES) break
  }
  return found
}

/** A cut must not leave half of a character behind. */
function cut(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN).replace(/[\uD800-\uDBFF]$/, '')}…`
}
