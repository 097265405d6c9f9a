import type { UpstreamFinding } from '../../../contracts/index.ts'
import { atOnce, isRecord } from '../../kernel/index.ts'
import { ADDRESSES } from './address-concepts.ts'
import { meaningsIn, type Passage } from './concept.ts'
import { CONVERSATION } from './conversation-concepts.ts'
import { readingsOf } from './digit-letters.ts'
import type { Draft, Family } from './draft.ts'
import { decodedIn } from './encoded-text.ts'
import { hiddenIn, type Whole } from './hidden-characters.ts'
import { isIdentifier, sentencesInside, wordsIn } from './inner-names.ts'
import type { ComparedNames } from './known-names.ts'
import { lookAlikeIn, mixedWordIn } from './look-alike-names.ts'
import { lettersOf } from './look-alikes.ts'
import { markersIn } from './markers.ts'
import { otherToolsIn } from './other-tools.ts'
import { ownArguments } from './own-arguments.ts'
import { paddingIn } from './padding.ts'
import { phrasesIn } from './phrases-in.ts'
import { plainText, plainTextInSteps } from './plain-text.ts'
import { RANK } from './rank-concepts.ts'
import { REQUESTED_SECRETS } from './requested-secrets.ts'
import { SECRETS } from './secret-concepts.ts'
import { squeezedIn } from './squeezed-text.ts'
import { steeringIn } from './steering-wording.ts'
import { type FoundString, ICON, LONGEST_STRING, stringsIn } from './strings-in.ts'
import { isAboutTalk, isForModels } from './subject.ts'
import { namesTooMany } from './tool-owners.ts'
import { VARIABLES } from './variable-concepts.ts'
import { wantedBy } from './wanted-names.ts'

const SUBJECTS = [ADDRESSES, RANK, CONVERSATION, VARIABLES, SECRETS, REQUESTED_SECRETS]
const OF_NO_PICTURES = SUBJECTS.filter(subject => subject !== ADDRESSES)

const MOST_FINDINGS = 20

/** What a definition says that a person should know before a model reads it. */
export function findingsIn(definition: unknown, names: ComparedNames): UpstreamFinding[] {
  return atOnce(lookInto(definition, names))
}

/** The same in small steps: between two of them others may have their turn. */
export function* lookInto(definition: unknown, names: ComparedNames): Generator<undefined, UpstreamFinding[]> {
  const found: Found[] = []
  const strong = new Set<string>()
  const strings = stringsIn(definition)
  const own = ownArguments(definition)
  const place: Place = {
    names: { ...names, parameters: own.words, looked: new Map() },
    argumentNames: own.names,
    isAboutTalk: isAboutTalk(definition),
    isForModels: isForModels(definition),
    isResource: isResource(definition),
  }
  let next = strings.next()
  // More than can be told need not be found.
  for (; !next.done && strong.size < MOST_FINDINGS; next = strings.next()) {
    for (const draft of draftsIn(next.value, place)) {
      if (draft) found.push({ draft, string: next.value })
      if (draft?.strength === 'strong') strong.add(`${draft.rule} ${next.value.field} ${draft.message}`)
      yield
    }
  }
  if (next.done && next.value) found.push({ draft: TOO_MUCH, string: NOWHERE })
  if (namesTooMany(place.names)) found.push({ draft: TOO_MANY_NAMES, string: NOWHERE })
  const families = new Set(found.map(({ draft }) => draft.family))
  const counted = found.filter(
    ({ draft, string: { role } }) => !draft.isPlain || role !== 'text' || isAggravated(draft, role, families),
  )
  const findings = withoutEchoes(wantedTogether(counted)).map(({ draft, string }) => toFinding(draft, string, families))
  return distinct(findings).slice(0, MOST_FINDINGS)
}

/** A tool is none for having an address beside its schema. */
function isResource(definition: unknown): boolean {
  return isRecord(definition) && 'uri' in definition && !('inputSchema' in definition)
}

/** What is known of a definition wherever one looks. */
interface Place extends Pick<Passage, 'isAboutTalk' | 'argumentNames'>, Whole {
  readonly names: ComparedNames
  /** It has an honest use for what a model was told. */
  readonly isForModels: boolean
}

interface Found {
  readonly draft: Draft
  readonly string: FoundString
}

/** One name may be chance. Who calls several parameters after what only the model has, wants that. */
function wantedTogether(found: readonly Found[]): readonly Found[] {
  const isWanted = ({ draft }: Found) => draft.family === 'wanted'
  const names = new Set(found.filter(isWanted).map(({ string }) => lettersOf(string.text)))
  if (names.size < 2) return found
  return found.map(one => (isWanted(one) ? { ...one, draft: { ...one.draft, strength: 'strong' } } : one))
}

/** A hint at what was found for certain is no news, unless it says so much for certain itself. */
function withoutEchoes(found: readonly Found[]): readonly Found[] {
  const placeOf = ({ draft, string }: Found) => `${draft.rule} ${string.field}`
  const certain = new Set(found.filter(({ draft }) => draft.family !== 'hint').map(placeOf))
  const isHint = ({ draft }: Found) => draft.family === 'hint' && draft.strength === 'weak'
  return found.filter(one => !isHint(one) || !certain.has(placeOf(one)))
}

/** Nothing where nothing was found: every look is a step. */
function* draftsIn(string: FoundString, place: Place): Generator<Draft | undefined> {
  const text = string.text.slice(0, LONGEST_STRING)
  const cut = { ...string, text }
  if (string.field === 'name') yield lookAlikeIn(text, place.names)
  yield hiddenIn(cut, place)
  if (!place.isForModels) yield wantedBy(cut)
  yield markersIn(cut)
  yield paddingIn(cut)
  yield mixedWordIn(text)
  const plain = yield* plainTextInSteps(text)
  const said = yield* noted(draftsInWords(cut, plain, place))
  const worded = cut.role === 'name' ? undefined : yield* steeringIn(text, plain)
  yield worded
  if (isIdentifier(text)) yield* draftsInName(text, place.names)
  for (const decoded of decodedIn(text)) {
    for (const draft of draftsInside(decoded.text, place))
      yield draft && hiddenAs(draft, `It is written in ${decoded.how}.`)
  }
  for (const reading of readingsOf(text)) {
    // In the same place, so that what stands beside such a word says what it said before: nothing of it is hidden.
    const plain = yield* plainTextInSteps(reading)
    for (const draft of draftsInWords({ ...cut, text: reading }, plain, place)) yield draft && inDigits(draft, said)
    if (cut.role === 'name' || onlyStrong(worded)) continue
    const its = onlyStrong(yield* steeringIn(reading, plain))
    yield its && { ...its, message: `${its.message} ${IN_DIGITS}` }
  }
  if (string.text.length > LONGEST_STRING) yield TOO_LONG
}

const IN_DIGITS = 'It is written with digits for letters.'

/** What is hidden by digits, other than what the text says in so many words. */
function inDigits(draft: Draft, said: ReadonlySet<string>): Draft | undefined {
  if (said.has(sayingOf(draft)) || said.has(sayingOf({ ...draft, strength: 'strong' }))) return undefined
  if (draft.isPlain && said.has(plainSayingOf(draft))) return undefined
  if (draft.rule === 'otherTool' && !onlyStrong(draft)) return undefined
  return hiddenAs(draft, IN_DIGITS)
}

/** What is written in a way that hides it has no honest reason, however plain its words are. */
function hiddenAs(draft: Draft, how: string): Draft {
  return { ...draft, strength: 'strong', message: `${draft.message} ${how}`, isPlain: false }
}

/** Hands them on, and answers what they said. */
function* noted(drafts: Iterable<Draft | undefined>): Generator<Draft | undefined, ReadonlySet<string>> {
  const said = new Set<string>()
  for (const draft of drafts) {
    if (draft?.isPlain) for (const saying of plainSayingsOf(draft)) said.add(saying)
    else if (draft) said.add(sayingOf(draft))
    yield draft
  }
  return said
}

/** What is said weakly must not hide that it is said strongly elsewhere. */
const sayingOf = ({ strength, message }: Draft) => `${strength} ${message}`

/** What is said in plain words counts for nothing, so it hides only what is said in the same place, as that may be read. */
function plainSayingsOf(draft: Draft): string[] {
  return [draft.excerpt, ...readingsOf(draft.excerpt)].map(excerpt => plainSayingOf({ ...draft, excerpt }))
}

const plainSayingOf = ({ message, excerpt }: Draft) => `${message} ${excerpt}`

/** What a string says as it is read. */
function* draftsInWords(string: FoundString, plain: string, place: Place): Generator<Draft | undefined> {
  const { names, isAboutTalk, argumentNames } = place
  const { text } = string
  yield squeezedIn(plain)
  yield yield* otherToolsIn(plain, names)
  if (string.role !== 'value' || !PATH.test(text)) yield* phrasesIn(text, plain, names)
  const subjects = ICON.test(string.field) ? OF_NO_PICTURES : SUBJECTS
  yield* meaningsIn({ text, plain, isAboutTalk, argumentNames, isOfParameter: PARAMETER.test(string.field) }, subjects)
}

/** Where a value belongs, nothing but a path says where something is, and asks for nothing. */
const PATH = /^[~./$][~./$\w-]{0,200}$/u

/** Where a definition says what belongs into a parameter. */
const PARAMETER = /(?:\bproperties(?:\.[^.]+|\[[^\n]+\])|^arguments\.\d+)\.description$/u

/** What a name says by the words that it is made of. */
function* draftsInName(name: string, names: ComparedNames): Generator<Draft | undefined> {
  const words = plainText(wordsIn(name).join(' '))
  yield* phrasesIn(words, words, names)
  for (const sentence of sentencesInside(name, names)) yield onlyStrong(yield* otherToolsIn(sentence, names))
}

/** What is merely spoken of is no finding where it would be held back for the way it is written. */
function onlyStrong(draft: Draft | undefined): Draft | undefined {
  return draft?.strength === 'strong' ? draft : undefined
}

function* draftsInside(text: string, { names, argumentNames }: Place): Generator<Draft | undefined> {
  const plain = yield* plainTextInSteps(text)
  yield onlyStrong(yield* otherToolsIn(plain, names))
  yield* phrasesIn(text, plain, names)
  yield* meaningsIn({ text, plain, isAboutTalk: false, isOfParameter: false, argumentNames }, SUBJECTS)
  yield squeezedIn(plain)
  yield yield* steeringIn(text, plain)
}

/** Families of which one makes another weak finding strong: they say what the steering is for. */
const TELLING: ReadonlySet<Family> = new Set(['conceal', 'conversation', 'secret', 'send', 'consent', 'hidden'])
const STEERING: ReadonlySet<Family> = new Set(['override', 'order', 'otherTool', 'conceal', 'consent', 'send'])

function toFinding(draft: Draft, { field, role }: FoundString, families: ReadonlySet<Family>): UpstreamFinding {
  const { rule, message, excerpt } = draft
  const strength = draft.strength === 'strong' || isAggravated(draft, role, families) ? 'strong' : 'weak'
  return { rule, strength, field, excerpt, message }
}

/** An order where only a value belongs has no honest reason; elsewhere it takes two that fit together. */
function isAggravated({ family }: Draft, role: FoundString['role'], families: ReadonlySet<Family>): boolean {
  if (role !== 'text' && (STEERING.has(family) || family === 'conversation')) return true
  const others = [...families].filter(other => other !== family)
  if (TELLING.has(family)) return others.some(other => STEERING.has(other))
  return STEERING.has(family) && others.some(other => TELLING.has(other))
}

function distinct(findings: readonly UpstreamFinding[]): UpstreamFinding[] {
  const kept = new Map<string, UpstreamFinding>()
  for (const finding of findings.toSorted((a, b) => Number(a.strength === 'weak') - Number(b.strength === 'weak'))) {
    const key = `${finding.rule} ${finding.field} ${finding.message}`
    if (!kept.has(key)) kept.set(key, finding)
  }
  return [...kept.values()]
}

const UNREAD = { rule: 'padding', family: 'padding', strength: 'strong', excerpt: '' } as const
const TOO_LONG: Draft = { ...UNREAD, message: 'It is so long that its end was not looked at.' }
const TOO_MANY_NAMES: Draft = { ...UNREAD, message: 'It names so many tools that not all were looked at.' }
/** Said of the whole definition. */
const NOWHERE: FoundString = { field: '', text: '', role: 'text' }
const TOO_MUCH: Draft = { ...UNREAD, message: 'It has so many strings that not all were looked at.' }
