import type { UpstreamFinding } from '../../../contracts/index.ts'
import { excerptOf } from '../visible-text.ts'
import { CONCEALMENT_PHRASES } from './concealment-phrases.ts'
import type { Draft, Family } from './draft.ts'
import { decodedIn } from './encoded-text.ts'
import { hiddenIn } from './hidden-characters.ts'
import { INSTRUCTION_PHRASES } from './instruction-phrases.ts'
import { LANGUAGE_PHRASES } from './language-phrases.ts'
import { lookAlikeIn, mixedWordIn } from './look-alike-names.ts'
import { markersIn } from './markers.ts'
import { type ComparedNames, otherToolsIn } from './other-tools.ts'
import { paddingIn } from './padding.ts'
import type { Phrase } from './phrase.ts'
import { originalOf, plainText } from './plain-text.ts'
import { SECRET_PHRASES } from './secret-phrases.ts'
import { squeezedIn } from './squeezed-text.ts'
import { type FoundString, stringsIn } from './strings-in.ts'

const PHRASES: readonly Phrase[] = [
  ...INSTRUCTION_PHRASES,
  ...CONCEALMENT_PHRASES,
  ...SECRET_PHRASES,
  ...LANGUAGE_PHRASES,
]

/** A string that is longer is no description. What stands behind this is not looked at, and that is told. */
const LONGEST_STRING = 32 * 1024
const MOST_FINDINGS = 20

/** What a definition says that a person should know before a model reads it. */
export function findingsIn(definition: unknown, names: ComparedNames): UpstreamFinding[] {
  const { strings, isCutShort } = stringsIn(definition)
  const drafts = strings.flatMap(string => {
    const name = string.field === 'name' ? lookAlikeIn(string.text, names) : undefined
    return [...(name ? [name] : []), ...draftsIn(string, names)].map(draft => ({ draft, string }))
  })
  if (isCutShort) drafts.push({ draft: TOO_MUCH, string: { field: '', text: '', role: 'text' } })
  const families = new Set(drafts.map(({ draft }) => draft.family))
  const findings = drafts.map(({ draft, string }) => toFinding(draft, string, families))
  return distinct(findings).slice(0, MOST_FINDINGS)
}

function draftsIn(string: FoundString, names: ComparedNames): Draft[] {
  const text = string.text.slice(0, LONGEST_STRING)
  const cut = { ...string, text }
  const plain = plainText(text)
  const drafts = [hiddenIn(cut), markersIn(cut), paddingIn(cut), mixedWordIn(text), squeezedIn(plain)]
  drafts.push(otherToolsIn(plain, names))
  drafts.push(...phrasesIn(text, plain))
  if (isIdentifier(text)) drafts.push(...phrasesIn(wordsOf(text), wordsOf(text)))
  for (const decoded of decodedIn(text)) {
    const inside = [...phrasesIn(decoded.text, plainText(decoded.text)), squeezedIn(plainText(decoded.text))]
    drafts.push(
      ...inside.map(
        draft =>
          draft && {
            ...draft,
            strength: 'strong' as const,
            message: `${draft.message} It is written in ${decoded.how}.`,
          },
      ),
    )
  }
  if (string.text.length > LONGEST_STRING) drafts.push(TOO_LONG)
  return drafts.filter(draft => draft !== undefined)
}

function phrasesIn(text: string, plain: string): Draft[] {
  if (plain.length < SHORTEST_PHRASE) return []
  const needed = new Map<RegExp, boolean>()
  const mayHave = ({ needs }: Phrase) => {
    const known = needed.get(needs) ?? needs.test(plain)
    needed.set(needs, known)
    return known
  }
  return PHRASES.filter(mayHave).flatMap(phrase => {
    const match = phrase.pattern.exec(plain)
    if (!match || isExcused(phrase, plain, match.index)) return []
    const { rule, family, strength, message } = phrase
    const start = Math.max(0, match.index - AROUND)
    const excerpt = excerptOf(originalOf(text, start, match.index + match[0].length + AROUND))
    return [{ rule, family, strength, message, excerpt }]
  })
}

/** Half of all strings are shorter than anything that is looked for. */
const SHORTEST_PHRASE = 6
/** How many characters of the surroundings are shown. */
const AROUND = 20

function isExcused({ unlessAfter }: Phrase, plain: string, at: number): boolean {
  return unlessAfter?.test(plain.slice(plain.lastIndexOf('\n', at) + 1, at).slice(-LOOK_BACK)) ?? false
}

const LOOK_BACK = 100

function isIdentifier(text: string): boolean {
  return text.length <= 256 && !/\s/u.test(text) && /[a-z][_.-]|[a-z][A-Z]/u.test(text)
}

/** `contentOf_ssh_key` → `content of ssh key`. */
function wordsOf(name: string): string {
  return plainText(name.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[_.-]+/g, ' '))
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
const TOO_MUCH: Draft = { ...UNREAD, message: 'It has so many strings that not all were looked at.' }
