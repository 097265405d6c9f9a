import { excerptOf, withoutEmoji } from '../visible-text.ts'
import type { Found, FoundString } from './text.ts'

interface Kind {
  readonly what: string
  readonly pattern: RegExp
  readonly strength: 'weak' | 'strong'
}

/** Characters that are never shown, by their Unicode properties: a list would miss those of the next edition. */
const UNSHOWN = '\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\ufff9-\\ufffb'

const invisible = (exceptions: string) => `(?:(?![${exceptions}])[${UNSHOWN}])`

/**
 * Characters that are in a text without being seen. Joiners, direction marks and soft hyphens have honest uses in some
 * languages and come along when text is copied, so a single one between words is only a warning.
 */
const KINDS: readonly Kind[] = [
  { what: 'tag characters, which spell out invisible text', pattern: /[\u{e0000}-\u{e007f}]/u, strength: 'strong' },
  { what: 'characters that reverse the reading order', pattern: /[\u202a-\u202e\u2066-\u2069]/u, strength: 'strong' },
  { what: 'terminal escape sequences', pattern: /[\u001b\u009b\u009d\u0090]/u, strength: 'strong' },
  { what: 'control characters', pattern: /(?![\t\n\r])\p{Cc}/u, strength: 'strong' },
  {
    what: 'variation selectors in a row, which can carry text',
    pattern: /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{2}/u,
    strength: 'strong',
  },
  {
    what: 'variation selectors that belong to no character',
    pattern: /(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]/u,
    strength: 'strong',
  },
  {
    what: 'invisible characters inside a word',
    pattern: new RegExp(
      `[\\p{Script=Latin}\\p{Nd}_]${invisible('\\u00ad\\u061c\\u200e\\u200f\\ufe00-\\ufe0f')}+[\\p{Script=Latin}\\p{Nd}_]`,
      'u',
    ),
    strength: 'strong',
  },
  {
    what: 'invisible characters in a row',
    pattern: new RegExp(`${invisible('\\u061c\\ufe00-\\ufe0f')}{3}`, 'u'),
    strength: 'strong',
  },
  {
    what: 'invisible characters',
    // Scripts and emoji need joiners and variation selectors.
    pattern: new RegExp(
      `${invisible('\\u180b-\\u180d\\u180f\\u200c\\u200d\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}')}|[\\p{Co}\\p{Zl}\\p{Zp}]`,
      'u',
    ),
    strength: 'weak',
  },
  { what: 'a carriage return that goes back over the line', pattern: /\r(?!\n|$)/u, strength: 'weak' },
]

const ANY = new RegExp(`[\\p{Cc}\\p{Co}\\p{Zl}\\p{Zp}${UNSHOWN}]`, 'u')

/** Ordinary in a text. A name that contains one is not the name that is shown. */
const BREAK: Kind = { what: 'a line break or a tab', pattern: /[\t\n\r]/u, strength: 'strong' }
/** The name of a tool, a prompt or an argument. Keys of examples and of `_meta` may be any text. */
const CALLED = /^name$|^arguments\.\d+\.name$|\bproperties(?:\.[^.]+|\[[^\n]+\])$/u

/** Characters that are in a string without being seen. A name may have none of them. */
export function hiddenIn({ text: whole, role, field }: FoundString, isResource: boolean): Found | undefined {
  if (!ANY.test(whole)) return undefined
  const text = withoutEmoji(whole)
  // The name of a resource is a title for people, and may have a line break.
  const isCalled = role === 'name' && !isResource && CALLED.test(field)
  for (const { what, pattern, strength } of isCalled ? [...KINDS, BREAK] : KINDS) {
    const match = pattern.exec(text)
    if (!match) continue
    const excerpt = excerptOf(text.slice(Math.max(0, match.index - 30), match.index + 60))
    return { rule: 'hidden', strength: role === 'name' ? 'strong' : strength, excerpt, message: `It has ${what}.` }
  }
  return undefined
}

/** Docstrings are indented by up to forty spaces and have an empty line or two; ordinary texts stay below these. */
const GAPS: readonly Kind[] = [
  { pattern: /(?:\n[^\S\n]{0,200}){15}\S/u, what: 'many empty lines', strength: 'strong' },
  { pattern: /\S[^\S\n]{80}[^\S\n]{0,8192}\S/u, what: 'a long gap', strength: 'strong' },
  { pattern: /\n[^\S\n]{200}[^\S\n]{0,8192}\S/u, what: 'a long gap', strength: 'strong' },
  { pattern: /(?:<br\s?\/?>\s{0,3}|&nbsp;\s{0,3}|\\n\s{0,3}){12}/iu, what: 'many empty lines', strength: 'strong' },
  { pattern: /(?:\n[^\S\n]{0,200}){8}\S/u, what: 'many empty lines', strength: 'weak' },
]
const SHORTEST_WITH_GAP = 14

/** Blank space that pushes the rest of a text to where a person does not look. */
export function gapIn({ text }: FoundString): Found | undefined {
  if (text.length < SHORTEST_WITH_GAP) return undefined
  // A braille cell without dots is a blank that `\s` does not match.
  const flat = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').replaceAll('\u2800', ' ')
  for (const { pattern, strength, what } of GAPS) {
    const match = pattern.exec(flat)
    if (!match) continue
    const behind = flat.slice(match.index + match[0].length - 1).trim()
    const message = `It has ${what}, and more text behind that.`
    return { rule: 'padding', strength, excerpt: excerptOf(`… ${behind}`), message }
  }
  return undefined
}

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
