import { latinFor } from './scan/look-alikes.ts'
import { showExactly, showLetters } from './visible-text.ts'

/**
 * Pieces of two texts for someone who compares them. Nothing in them is hidden, and what looks the same in both and is not is written out
 * letter by letter, a word at a time: an accent may be a letter of its own, and another alphabet has an `a` as well.
 */
export function sideBySide(one: readonly string[], other: readonly string[]): [string[], string[]] {
  const [all, allOther] = [one.join('\n'), other.join('\n')]
  if (!BEYOND_PLAIN.test(all) && !BEYOND_PLAIN.test(allOther)) return [one.map(showExactly), other.map(showExactly)]
  if (lookOf(all) === lookOf(allOther)) return [one.map(showLetters), other.map(showLetters)]
  const [looks, otherLooks] = [looksIn(all), looksIn(allOther)]
  return [one.map(text => showBeside(text, otherLooks)), other.map(text => showBeside(text, looks))]
}

const BEYOND_PLAIN = /[^\x20-\x7e\n\t]/u

/** What stands between spaces, and the words and signs that it is made of. */
const CHUNKS = /\S+/g
const PIECES = /[\p{L}\p{M}\p{N}\p{Default_Ignorable_Code_Point}\u00a8\u00b4]+|[^]/gu

/** All that looks one way, by its looks. */
type Looks = ReadonlyMap<string, ReadonlySet<string>>

function looksIn(text: string): Looks {
  const looks = new Map<string, Set<string>>()
  for (const [chunk] of text.matchAll(CHUNKS)) {
    for (const piece of new Set([chunk, ...(chunk.match(PIECES) ?? [])])) {
      const look = lookOf(piece)
      looks.set(look, (looks.get(look) ?? new Set()).add(piece))
    }
  }
  return looks
}

function showBeside(text: string, others: Looks): string {
  const alike: [number, number][] = []
  for (const { 0: chunk, index } of text.matchAll(CHUNKS)) {
    if (!BEYOND_PLAIN.test(chunk)) continue
    if (isStrange(chunk, others)) alike.push([index, index + chunk.length])
    else
      for (const { 0: piece, index: at } of chunk.matchAll(PIECES))
        if (isStrange(piece, others)) alike.push([index + at, index + at + piece.length])
  }
  let shown = ''
  let done = 0
  for (const [from, to] of alike) {
    // With a backslash before it, which may have to be double.
    const start = from - (/(?<!\\)\\+$/.exec(text.slice(done, from))?.[0].length ?? 0)
    shown += showExactly(text.slice(done, start)) + showLetters(text.slice(start, to))
    done = to
  }
  return shown + showExactly(text.slice(done))
}

function hasDouble(piece: string, others: Looks): boolean {
  const same = others.get(lookOf(piece))
  return same !== undefined && (same.size > 1 || !same.has(piece))
}

/** A sign that both have is an ordinary one: many texts have dashes of two lengths. */
function isStrange(piece: string, others: Looks): boolean {
  if (!BEYOND_PLAIN.test(piece) || !hasDouble(piece, others)) return false
  return /[\p{L}\p{N}]/u.test(piece) || !others.get(lookOf(piece))?.has(piece)
}

function lookOf(text: string): string {
  if (!BEYOND_PLAIN.test(text)) return text
  const apart = text
    .normalize('NFKD')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    // An accent that stands by itself is one behind a space.
    .replace(/ (?=\p{M})/gu, '')
  return Array.from(apart, signOf).join('')
}

function signOf(character: string): string {
  if (character <= '~') return character
  const sign = SIGNS.find(([, alike]) => alike.test(character))
  if (sign) return sign[0]
  const latin = latinFor(character)
  if (latin === undefined) return character
  return character === character.toLowerCase() ? latin : latin.toUpperCase()
}

const SIGNS: readonly (readonly [string, RegExp])[] = [
  ['-', /[\p{Pd}\u02d7\u2043\u2212\u2500\u2796]/u],
  ['/', /[\u2044\u2215\u2571\u29f8]/],
  ['\\', /[\u2216\u2572\u29f5]/],
  ["'", /[\u02b9\u02bb\u02bc\u2018-\u201b\u2032]/],
  ['"', /[\u201c-\u201f\u2033]/],
  [':', /[\u02d0\u2236\ua789]/],
  ['.', /[\u2027\u00b7]/],
  [',', /\u201a/],
  ['*', /[\u2217\u204e]/],
  ['~', /[\u223c\u02dc]/],
  ['<', /[\u2039\u02c2]/],
  ['>', /[\u203a\u02c3]/],
  ['|', /[\u2223\u2502\u01c0]/],
  ['!', /\u01c3/],
]
