import { excerptOf } from '../visible-text.ts'
import type { Found } from './strings-in.ts'

const BASE64 = /[A-Za-z0-9+/_-]{24,}={0,2}/g
const HEX = /(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}[ :]?){16,}/g
/** Escapes one after the other: a single one stands for a character that is hard to type, several in a row for a word. */
const ESCAPES = /(?:\\u\{?[0-9a-fA-F]{2,6}\}?|\\x[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,6};|%[0-9a-fA-F]{2}){4,}/g
const ESCAPE = /(?:\\[ux]\{?|&#(?<hex>x?)|%)(?<digits>[0-9a-fA-F]{2,6})[};]?/g

const ENCODINGS = [
  { how: 'Base64', pattern: BASE64, decode: fromBase64, isText: isWords },
  { how: 'hexadecimal', pattern: HEX, decode: fromHex, isText: isWords },
  { how: 'escapes', pattern: ESCAPES, decode: fromEscapes, isText: (text: string) => /[a-z]{4}/i.test(text) },
] as const

/** Words that a text spells in Base64, hexadecimal or escapes. Numbers, identifiers and pictures do not decode to words. */
export function encodedIn(text: string): Found | undefined {
  for (const { how, pattern, decode, isText } of ENCODINGS) {
    for (const [piece] of text.matchAll(pattern)) {
      const decoded = decode(piece)
      if (!isText(decoded)) continue
      return {
        rule: 'hidden',
        strength: 'strong',
        excerpt: excerptOf(decoded),
        message: `It has text written in ${how}.`,
      }
    }
  }
  return undefined
}

function fromBase64(piece: string): string {
  const standard = piece.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  try {
    const binary = atob(standard.slice(0, standard.length - (standard.length % 4 === 1 ? 1 : 0)))
    return new TextDecoder().decode(Uint8Array.from(binary, character => character.charCodeAt(0)))
  } catch {
    // It only looked like Base64.
    return ''
  }
}

function fromHex(piece: string): string {
  return piece.replace(/[ :]/g, '').replace(/../g, pair => String.fromCharCode(Number.parseInt(pair, 16)))
}

function isWords(text: string): boolean {
  const letters = text.match(/[\p{L}\s.,:;'"/~_-]/gu)?.length ?? 0
  return letters >= 0.9 * text.length && (text.match(/\p{L}{2,}/gu)?.length ?? 0) >= 3
}

function fromEscapes(piece: string): string {
  return piece.replace(ESCAPE, (escape, ...rest) => {
    const { hex, digits = '' } = rest.at(-1) as Record<string, string | undefined>
    const point = Number.parseInt(digits, escape.startsWith('&') && hex === '' ? 10 : 16)
    return point <= 0x10ffff ? String.fromCodePoint(point) : escape
  })
}
