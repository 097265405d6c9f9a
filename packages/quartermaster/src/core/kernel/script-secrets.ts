import { firstScript } from './command-line.ts'
import { type Script, type ScriptWord, scriptWords } from './script-words.ts'
import { type Keep, type Shelf, variableName } from './secret-shelf.ts'
import { isSecretText } from './secret-text.ts'

/** Takes what looks like a credential out of one word, by what stands before it as well. */
export type HideWord = (word: string, before: string | undefined, shelf: Shelf) => string

/** Only the values, so that quotes, variables and programs of the script stay as they are. */
export function hideInScript(script: Script, shelf: Shelf, hideWord: HideWord): string {
  // From the end, so that what stands before keeps its place.
  return findInScript(script, shelf, hideWord).reduceRight(
    (text, { from, to, reference }) => text.slice(0, from) + reference + text.slice(to),
    script.text,
  )
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
  readonly word: ScriptWord
  readonly before: string | undefined
  readonly hideWord: HideWord
}

/** By their places in the word. */
function findInWord(place: WordPlace, shelf: Shelf): Found[] {
  const kept: { value: string; reference: string }[] = []
  const keepIf =
    (name: string, keep: Keep): Keep =>
    value => {
      if (isFilledIn(value, place)) return value
      if (shelf.isToRun && !isSafeIn(value, place.script)) {
        shelf.left.add(name)
        return value
      }
      const reference = keep(value)
      kept.push({ value, reference })
      return reference
    }
  const hidden = place.hideWord(place.word.text, place.before, {
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

/** Whether the shell puts it there itself, from a variable or a command. */
function isFilledIn(value: string, { script: { text, shell }, word: { places } }: WordPlace): boolean {
  const written = text.slice(Math.max(0, (places[0] ?? 0) - 1), (places.at(-1) ?? 0) + 2)
  if (shell === 'sh' && written.includes("'")) return false
  // A command in brackets is a word of its own here, so that of it only the sign stands at the end of this one.
  const isBegun = text[(places.at(-1) ?? 0) + 1] === '('
  const filledIn = shell === 'cmd' ? /%[^%]+%/g : /\$(?:\{[^}]*\}|\w+|\([^)]*\)?)|`[^`]*`/g
  if (isBegun && value.endsWith('$')) return true
  const literal = value.replace(filledIn, () => '${filled}')
  return literal !== value && !isSecretText('', literal)
}
