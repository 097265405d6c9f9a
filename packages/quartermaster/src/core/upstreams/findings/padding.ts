import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import type { FoundString } from './strings-in.ts'

/** Docstrings are indented by up to forty spaces and have an empty line or two. Nobody needs as many as these. */
const FAR: readonly { readonly pattern: RegExp; readonly strength: 'weak' | 'strong'; readonly what: string }[] = [
  { pattern: /(?:\n[^\S\n]{0,200}){15}\S/u, strength: 'strong', what: 'many empty lines' },
  { pattern: /\S[^\S\n]{80}[^\S\n]*\S/u, strength: 'strong', what: 'a long gap' },
  { pattern: /\n[^\S\n]{200}[^\S\n]*\S/u, strength: 'strong', what: 'a long gap' },
  { pattern: /(?:<br\s?\/?>\s{0,3}|&nbsp;\s{0,3}|\\n\s{0,3}){12}/iu, strength: 'strong', what: 'many empty lines' },
  { pattern: /(?:\n[^\S\n]{0,200}){8}\S/u, strength: 'weak', what: 'many empty lines' },
  { pattern: /(\n[^\S\n]{0,40}\S[^\S\n]{0,40})\1{11}/u, strength: 'weak', what: 'many lines that say nothing' },
]

/** Text that is pushed to where nobody looks. */
export function paddingIn({ text }: FoundString): Draft | undefined {
  if (text.length < SHORTEST) return undefined
  // A braille cell without dots is a blank that patterns do not know.
  const flat = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').replaceAll('\u2800', ' ')
  for (const { pattern, strength, what } of FAR) {
    const match = pattern.exec(flat)
    if (!match) continue
    const behind = flat.slice(match.index + match[0].length - 1).trim()
    const message = `It has ${what}, and more text behind that.`
    return { rule: 'padding', family: 'padding', strength, excerpt: excerptOf(`… ${behind}`), message }
  }
  return undefined
}

const SHORTEST = 14
