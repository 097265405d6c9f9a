import { firstScript } from './command-line.ts'
import { type FilledWord, type Script, scriptWords } from './script-words.ts'
import { type Keep, mapSecretPieces, type SecretStore, variableName } from './secret-store.ts'
import { FILLER } from './secret-text.ts'

/** Takes what looks like a credential out of one word, by the words before it as well. */
type HideWord = (word: string, before: readonly string[], store: SecretStore) => string

/** Only the values, so that quotes, variables and programs of the script stay as they are. */
export function hideInScript(script: Script, store: SecretStore, hideWord: HideWord): string {
  // From the end, so that what stands before keeps its place.
  return onePerPlace(findInScript({ script, isOurs: ourPlaces(script.text), hideWord }, store))
    .toReversed()
    .reduce((text, { from, to, reference }) => text.slice(0, from) + reference + text.slice(to), script.text)
}

/** In order. A command within a word is read as a part of that and by itself. */
function onePerPlace(found: readonly Found[]): Found[] {
  const sorted = [...found].sort((one, other) => one.from - other.from || other.to - one.to)
  let end = 0
  return sorted.filter(({ from, to }) => {
    const isFree = from >= end
    if (isFree) end = to
    return isFree
  })
}

interface Found {
  readonly from: number
  readonly to: number
  readonly reference: string
}

interface ScriptPlace {
  readonly script: Script
  /** Whether a place of it stands in a reference of ours, in which there can be no other. */
  readonly isOurs: (place: number) => boolean
  readonly hideWord: HideWord
}

function ourPlaces(text: string): (place: number) => boolean {
  const references = [...text.matchAll(/\$\$\{|\$\{[^}]*/g)].filter(([reference]) => !reference.startsWith('$$'))
  return place => references.some(({ 0: { length }, index }) => index <= place && place < index + length)
}

function findInScript({ script, isOurs, hideWord }: ScriptPlace, store: SecretStore): Found[] {
  return scriptWords(script).flatMap(line => {
    const texts = line.map(({ text }) => text)
    const inner = firstScript(texts)
    return line.flatMap((word, i) => {
      const found =
        i === inner?.at
          ? findInScript({ script: inner, isOurs: at => isOurs(word.places[at] ?? 0), hideWord }, store)
          : findInWord({ script, isOurs, hideWord, word, before: texts.slice(0, i) }, store)
      return found.map(({ from, to, reference }) => ({
        from: word.places[from] ?? 0,
        to: (word.places[to - 1] ?? 0) + 1,
        reference,
      }))
    })
  })
}

interface WordPlace extends ScriptPlace {
  readonly word: FilledWord
  readonly before: readonly string[]
}

/** By their places in the word. */
function findInWord(place: WordPlace, store: SecretStore): Found[] {
  const kept: { value: string; reference: string }[] = []
  const keepIf =
    (name: string, keep: Keep): Keep =>
    value =>
      mapSecretPieces(name, value, text => {
        if (store.isToRun && !(isSafeIn(text, place.script) && canBeReplaced(text, place))) {
          store.left.add(name)
          return text
        }
        const reference = keep(text)
        kept.push({ value: text, reference })
        return reference
      })
  const hidden = place.hideWord(withoutFilledIn(place.word), place.before, {
    ...store,
    named: name => keepIf(name, store.named(name)),
    own: name => keepIf(variableName(name), store.own(name)),
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

/** Whether it is written in one piece, so that no quote within it goes with it, and in no reference. */
function canBeReplaced(value: string, { word: { text, places }, isOurs }: WordPlace): boolean {
  const at = text.lastIndexOf(value)
  const [from = 0, to = 0] = [places[at], places[at + value.length - 1]]
  return to - from === value.length - 1 && !isOurs(from)
}

/** A word in which something else of the same length stands for what the shell puts there itself. */
function withoutFilledIn({ text, places, filled }: FilledWord): string {
  return places.map((at, i) => (filled.has(at) ? FILLER : text[i])).join('')
}
