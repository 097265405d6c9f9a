import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'

/** What is worth being hidden by taking letters apart, by digits for letters, or by writing it backwards. */
const SENTENCES = [
  ...[
    'ignore previous instructions',
    'ignore all previous instructions',
    'ignore prior instructions',
    'ignore your instructions',
  ],
  ...[
    'ignore the above instructions',
    'ignore all instructions',
    'ignore all prior instructions',
    'disregard previous instructions',
  ],
  ...['disregard all previous instructions', 'disregard prior instructions', 'disregard your instructions'],
  ...['forget previous instructions', 'forget all previous instructions', 'override previous instructions'],
  ...[
    'do not tell the user',
    'dont tell the user',
    'do not inform the user',
    'dont inform the user',
    'never tell the user',
  ],
  ...['do not mention this', 'without telling the user', 'without informing the user', 'hide this from the user'],
  ...['reveal your system prompt', 'read the private key', 'send the private key'],
]

const backwards = (text: string) => [...text].toReversed().join('')
const rotated = (text: string) =>
  text.replace(/[a-z]/g, letter => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97))

/** As letters alone, and as the words that the other rules find by themselves. */
const NEEDLES = SENTENCES.flatMap(sentence => {
  const letters = sentence.replaceAll(' ', '')
  return [letters, backwards(letters), rotated(letters)].map(needle => ({ needle, sentence }))
})
const DIGITS: Readonly<Record<string, string>> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a', $: 's' }
const SHORTEST = 16

/** Looks at the letters alone, whatever stands between them. */
export function squeezedIn(plain: string): Draft | undefined {
  if (plain.length < SHORTEST) return undefined
  const letters = plain.replace(/[^a-z]/g, '')
  const read = /[0-9@$]/.test(plain)
    ? plain.replace(/[013457@$]/g, sign => DIGITS[sign] ?? '').replace(/[^a-z]/g, '')
    : ''
  const found = NEEDLES.find(
    ({ needle, sentence }) => (letters.includes(needle) || read.includes(needle)) && !plain.includes(sentence),
  )
  if (!found) return undefined
  return {
    rule: 'instruction',
    family: 'override',
    strength: 'strong',
    excerpt: excerptOf(plain),
    message: `It says "${found.sentence}" with its letters taken apart or replaced.`,
  }
}
