import { atOnce } from '../../kernel/index.ts'
import { escapedAt } from './escaped-characters.ts'
import { latinFor } from './look-alikes.ts'

/**
 * A text as a model reads it through all disguise: lower case, Latin letters for those that look like them, entities and
 * escapes read, accents, quotes and everything invisible gone, one space between words. A line break stands for the end of
 * a sentence, and only for that, so that patterns can stay within one.
 */
export function plainText(text: string): string {
  return atOnce(written(text, undefined))
}

/** The same in small steps. */
export function plainTextInSteps(text: string): Generator<undefined, string> {
  return written(text, undefined)
}

/** Finds the part of the original that became a part of the plain text. */
export function originalOf(text: string): (start: number, end: number) => string {
  let places: number[] | undefined
  return (start, end) => {
    if (!places) {
      places = []
      atOnce(written(text, places))
    }
    return text.slice(places[start] ?? 0, places[end] ?? text.length)
  }
}

/** Notes for every character of the result where in the text it comes from, when asked to. */
function* written(text: string, places: number[] | undefined): Generator<undefined, string> {
  let plain = ''
  let hasSpace = true
  // A language has some dozens of letters, and finding out about one takes a while.
  const folded = new Map<number, string>()
  const add = (piece: string, at: number) => {
    plain += piece
    if (places) for (let i = 0; i < piece.length; i++) places.push(at)
  }
  for (let at = 0, pauseAt = STEP; at < text.length; at++) {
    if (at >= pauseAt) {
      pauseAt = at + STEP
      yield
    }
    const code = text.charCodeAt(at)
    const start = at
    let piece: string
    const escaped = code === AMPERSAND || code === BACKSLASH ? escapedAt(text, at) : undefined
    if (escaped) {
      piece = plainOf(escaped.character)
      at += escaped.length - 1
    } else if (code < 128) piece = ASCII[code] ?? ''
    else {
      const point = text.codePointAt(at) ?? 0
      if (point > 0xffff) at++
      piece = folded.get(point) ?? fold(point)
      folded.set(point, piece)
    }
    if (piece === '') continue
    if (piece === ' ') {
      const isEnd = code === NEWLINE && isBlankOrBullet(text, at + 1)
      if (isEnd && !plain.endsWith('\n')) add('\n', start)
      else if (!hasSpace) add(' ', start)
      hasSpace = true
    } else if (SENTENCE_ENDS.has(piece) && endsHere(text, at + 1)) {
      add('\n', start)
      hasSpace = true
    } else {
      add(piece, start)
      hasSpace = false
    }
  }
  return plain
}

/** Each a letter that was never seen before, these take less than a turn. */
const STEP = 1024
const NEWLINE = 10
const AMPERSAND = 38
const BACKSLASH = 92
const SENTENCE_ENDS: ReadonlySet<string> = new Set(['.', '!', '?'])

/** For every ASCII character what stands for it: quotes and marks of emphasis nothing, controls nothing. */
const ASCII: readonly string[] = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/\s/.test(character)) return ' '
  return /[\p{Cc}'"`*]/u.test(character) ? '' : character.toLowerCase()
})

const HANGUL_FILLER = 0x3164
const TAGS = { first: 0xe0020, last: 0xe007e, offset: 0xe0000 } as const

/** Chinese, Japanese: nothing about them needs folding, and there may be much of them. */
const IDEOGRAPHS = { first: 0x3041, last: 0x9fff } as const

/** What stands for a character that was written as an escape, or for none. */
function plainOf(character: string): string {
  const point = character.codePointAt(0) ?? 0
  return point < 128 ? (ASCII[point] ?? '') : fold(point)
}

function fold(point: number): string {
  if (point >= IDEOGRAPHS.first && point <= IDEOGRAPHS.last && point !== HANGUL_FILLER)
    return String.fromCodePoint(point)
  if (point >= TAGS.first && point <= TAGS.last) return String.fromCodePoint(point - TAGS.offset).toLowerCase()
  const character = String.fromCodePoint(point)
  if (SPECIAL.test(character)) return foldSpecial(character)
  const plain = character.normalize('NFKD')
  if (plain === character) return latinFor(character) ?? (/\p{M}/u.test(character) ? '' : character.toLowerCase())
  const letters = [...plain.replace(/\p{M}/gu, '')]
  return letters.map(letter => latinFor(letter) ?? letter.toLowerCase()).join('')
}

const SPECIAL = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Surrogate}‘’‚‛“”„‟«»\s\u2800。！？｡\p{Pd}\p{Pc}]/u

function foldSpecial(character: string): string {
  if (/[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Surrogate}‘’‚‛“”„‟«»]/u.test(character)) return ''
  if (/[\s\u2800]/u.test(character)) return ' '
  if (/[。！？｡]/u.test(character)) return '.'
  return /\p{Pc}/u.test(character) ? '_' : '-'
}

/** A dot inside `~/.ssh` or `config.json` ends nothing. */
function endsHere(text: string, next: number): boolean {
  if (next >= text.length) return true
  const code = text.charCodeAt(next)
  if (code > 127 || /[\s'"`*)\]<]/.test(text[next] ?? '')) return true
  BEGINNING.lastIndex = next
  return BEGINNING.test(text)
}

/** What was put together from several texts may have no space between them. */
const BEGINNING = /(?:This|These|It|If|The|Use|When|You|Do) /y

/** Whether the line that begins here is empty, or an item of a list. */
function isBlankOrBullet(text: string, start: number): boolean {
  let at = start
  while (at < text.length && (text[at] === ' ' || text[at] === '\t' || text[at] === '\r')) at++
  const character = text[at]
  if (character === '\n' || character === undefined) return true
  return (character === '-' || character === '*' || character === '•') && text[at + 1] === ' '
}
