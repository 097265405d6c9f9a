/** A text that was written in another way, and in which one. */
export interface DecodedText {
  readonly text: string
  readonly how: string
}

/** How many encoded pieces of one string are looked at. */
const MOST_PIECES = 10

/** What a string says in Base64, hexadecimal, or escapes, as far as it is words. */
export function decodedIn(text: string): DecodedText[] {
  return [
    ...pieces(text, BASE64, fromBase64).map(piece => ({ text: piece, how: 'Base64' })),
    ...pieces(text, HEX, fromHex).map(piece => ({ text: piece, how: 'hexadecimal' })),
    ...escapesIn(text).map(piece => ({ text: piece, how: 'escapes' })),
  ]
}

const BASE64 = /[A-Za-z0-9+/_-]{24,}={0,2}/g
const HEX = /(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}[ :]?){16,}/g

function pieces(text: string, pattern: RegExp, decode: (piece: string) => string | undefined): string[] {
  const found: string[] = []
  for (const [piece] of text.matchAll(pattern)) {
    const decoded = decode(piece)
    if (decoded !== undefined && isWords(decoded)) found.push(decoded)
    if (found.length >= MOST_PIECES) break
  }
  return found
}

function fromBase64(piece: string): string | undefined {
  const standard = piece.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  try {
    return utf8(atob(standard.slice(0, standard.length - (standard.length % 4 === 1 ? 1 : 0))))
  } catch {
    // Then it only looked like it.
    return undefined
  }
}

function fromHex(piece: string): string {
  const digits = piece.replace(/[ :]/g, '')
  return digits.replace(/../g, pair => String.fromCharCode(Number.parseInt(pair, 16)))
}

function utf8(binary: string): string {
  return new TextDecoder().decode(Uint8Array.from(binary, character => character.charCodeAt(0)))
}

/** Sentences, and not a number, an identifier or a picture that happens to decode. */
function isWords(text: string): boolean {
  const letters = text.match(/[\p{L}\s.,:;'"/~_-]/gu)?.length ?? 0
  return letters >= 0.9 * text.length && (text.match(/\p{L}{2,}/gu)?.length ?? 0) >= 3
}

const ESCAPES = /\\u\{?[0-9a-fA-F]{2,6}\}?|\\x[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,6};|%[0-9a-fA-F]{2}/g

/** The whole string with its escapes read, where there are enough of them to spell something. */
function escapesIn(text: string): string[] {
  if ((text.match(ESCAPES)?.length ?? 0) < 2) return []
  return [text.replace(ESCAPES, characterOf)]
}

function characterOf(escape: string): string {
  const isDecimal = escape.startsWith('&#') && !/^&#x/i.test(escape)
  const digits = escape.replace(/^(?:\\[ux]\{?|&#x?|%)/i, '').replace(/[};]$/, '')
  const point = Number.parseInt(digits, isDecimal ? 10 : 16)
  return point <= 0x10ffff ? String.fromCodePoint(point) : escape
}
