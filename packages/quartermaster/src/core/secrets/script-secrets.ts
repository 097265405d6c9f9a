import { type FilledWord, firstScript, type Script, scriptWords } from '../shell/index.ts'
import { FILLED_IN, FILLER, secretPieces } from './looks-like-secret.ts'

/** Keeps a value, and answers the reference to it. */
export type Keep = (value: string) => string

/** Where credentials go that are taken out of an entry. */
export interface SecretStore {
  readonly secrets: Record<string, string>
  /** What those would be called that had to stay. */
  readonly left: Set<string>
  readonly isToRun: boolean
  readonly isToShow: boolean
  /** Keeps a text under this name. */
  named(name: string): Keep
  /** Keeps a text under this name of this upstream. */
  own(name: string): Keep
}

interface StoreOptions {
  readonly upstream: string
  /** A name that the entry refers to already means another secret. */
  readonly taken: ReadonlySet<string>
  readonly isToRun?: boolean
  readonly isToShow?: boolean
}

export function createSecretStore({ upstream, taken, isToRun = false, isToShow = false }: StoreOptions): SecretStore {
  const secrets: Record<string, string> = {}
  const isFree = (name: string, value: string) => !taken.has(name) && (secrets[name] ?? value) === value
  const named = (wanted: string) => (text: string) => {
    const name = wanted.replace(/[^\w.-]+/g, '_').replace(/^_+|_+$/g, '') || 'SECRET'
    return mapSecretPieces(name, text, value => {
      const free = freeName(name, candidate => isFree(candidate, value))
      secrets[free] = value
      return `\${secret:${free}}`
    })
  }
  const own = (name: string) => named(variableName(`${upstream}_${name}`))
  return { secrets, left: new Set(), isToRun, isToShow, named, own }
}

/** Nothing is filled in in a secret, so references stay where they are: of `postgres://me:pw@${HOST}/db` what stands before goes. */
export function mapSecretPieces(name: string, text: string, keep: Keep): string {
  const pieces = text.split(FILLED_IN)
  if (pieces.length === 1) return keep(text)
  const secret = new Set(secretPieces(name, pieces))
  const between = text.match(new RegExp(FILLED_IN, 'gu')) ?? []
  return pieces.map((piece, i) => `${secret.has(piece) ? keep(piece) : piece}${between[i] ?? ''}`).join('')
}

/** `api-key` → `API_KEY`. */
export function variableName(name: string): string {
  return name.replace(/-/g, '_').toUpperCase()
}

/** The names of the secrets that texts refer to, however deep they stand. */
export function secretNamesOf(value: unknown): Set<string> {
  const found = (JSON.stringify(value) ?? '').matchAll(/\$\{secret:([\w.-]+)\}/g)
  return new Set([...found].map(([, name = '']) => name))
}

/** The name, or the name with the first number that makes it free. */
export function freeName(name: string, isFree: (candidate: string) => boolean): string {
  if (isFree(name)) return name
  for (let number = 2; ; number++) if (isFree(`${name}_${number}`)) return `${name}_${number}`
}

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
