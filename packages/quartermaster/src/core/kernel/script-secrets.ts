import { firstScript } from './command-line.ts'
import { type FilledWord, type Script, type ScriptWord, scriptWords } from './script-words.ts'
import { type Keep, type Shelf, variableName } from './secret-shelf.ts'
import { isSecretName, isSecretText } from './secret-text.ts'

/** Takes what looks like a credential out of one word, by what stands before it as well. */
export type HideWord = (word: string, before: string | undefined, shelf: Shelf) => string

/** Only the values, so that quotes, variables and programs of the script stay as they are. */
export function hideInScript(script: Script, shelf: Shelf, hideWord: HideWord): string {
  // From the end, so that what stands before keeps its place.
  return findInScript(script, shelf, hideWord)
    .sort((one, other) => other.from - one.from)
    .reduce((text, { from, to, reference }) => text.slice(0, from) + reference + text.slice(to), script.text)
}

interface Found {
  readonly from: number
  readonly to: number
  readonly reference: string
}

function findInScript(script: Script, shelf: Shelf, hideWord: HideWord): Found[] {
  return scriptWords(script).flatMap(line => {
    const texts = line.map(({ text }) => text)
    const inner = firstScript(texts)
    return line.flatMap((word, i) => {
      const found =
        i === inner?.at
          ? findInScript(inner, shelf, hideWord)
          : findInWord({ script, word, before: texts[i - 1], hideWord }, shelf)
      return found.map(({ from, to, reference }) => ({
        from: word.places[from] ?? 0,
        to: (word.places[to - 1] ?? 0) + 1,
        reference,
      }))
    })
  })
}

interface WordPlace {
  readonly script: Script
  readonly word: FilledWord
  readonly before: string | undefined
  readonly hideWord: HideWord
}

/** By their places in the word. */
function findInWord(place: WordPlace, shelf: Shelf): Found[] {
  const kept: { value: string; reference: string }[] = []
  const keepIf =
    (name: string, keep: Keep): Keep =>
    value =>
      hideLiterals(name, value, text => {
        if (shelf.isToRun && !(isSafeIn(text, place.script) && isWhole(text, place.word))) {
          shelf.left.add(name)
          return text
        }
        const reference = keep(text)
        kept.push({ value: text, reference })
        return reference
      })
  const hidden = place.hideWord(withoutFilledIn(place.word), place.before, {
    ...shelf,
    named: name => keepIf(name, shelf.named(name)),
    own: name => keepIf(variableName(name), shelf.own(name)),
  })
  let [at, longer] = [0, 0]
  return kept.map(({ value, reference }) => {
    at = hidden.indexOf(reference, at)
    const from = at - longer
    at += reference.length
    longer += reference.length - value.length
    return { from, to: from + value.length, reference }
  })
}

/** What a secret stands for is put in before the shell reads the script, and would be run if it had more in it than these. */
function isSafeIn(value: string, { shell }: Script): boolean {
  return (shell === 'cmd' ? /^[\w.+/=:@-]+$/ : /^[\w.+/=:@%-]+$/).test(value)
}

/** Whether it is written in one piece, so that no quote within it goes with it. */
function isWhole(value: string, { text, places }: ScriptWord): boolean {
  const from = text.lastIndexOf(value)
  return (places[from + value.length - 1] ?? 0) - (places[from] ?? 0) === value.length - 1
}

/** All of it where the shell fills nothing in, otherwise what is a secret beside that. */
function hideLiterals(name: string, value: string, keep: Keep): string {
  const pieces = value.split(FILLER)
  if (pieces.length === 1) return keep(value)
  const isAsWhole = isSecretText('', pieces.map((piece, i) => (i % 2 === 1 ? '${filled}' : piece)).join(''))
  const isSecret = (piece: string) =>
    isSecretText('', piece) || (isAsWhole && piece.length >= 6) || (isSecretName(name) && SAYS_SOMETHING.test(piece))
  return pieces.map((piece, i) => (i % 2 === 0 && isSecret(piece) ? keep(piece) : piece)).join('')
}

/** More than the mark between two variables, and no part of a path or an address. */
const SAYS_SOMETHING = /^(?=.*\w)[^\s/:\\]{6,}$/

/** A word in which something else of the same length stands for what the shell puts there itself. */
function withoutFilledIn({ text, places, filled }: FilledWord): string {
  return places.map((at, i) => (filled.has(at) ? '\u{1}' : text[i])).join('')
}

const FILLER = /(\u{1}+)/u
