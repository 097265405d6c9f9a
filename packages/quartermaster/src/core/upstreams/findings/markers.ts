import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { anyOf } from './phrase.ts'
import type { FoundString } from './strings-in.ts'

/** How a turn begins that is meant for the model. Behind a label like "[Admin]" stands what the tool does. */
const SPEECH = anyOf(
  'you (?:are (?:now|no longer|to) |(?:must|should|shall|will|have to|now) (?!be |have ))',
  '(?:the |an? |any )?(?:assistant|model|agent|ai|llm) (?:must|should|shall|has to|is to) (?!be |have )',
  ...['from now on\\b', 'henceforth\\b', 'obey\\b', '(?:the |our )?polic(?:y|ies) (?:ha(?:s|ve) )?changed\\b'],
  'approve (?:everything|(?:every|all|any) (?:tool )?(?:calls?|actions?))\\b',
  '(?:(?:the|all|any|your|user) ){0,2}(?:polic(?:y|ies)|rules|instructions|guidelines|confirmations?|approvals?|restrictions?) (?:ha(?:s|ve) been|is|are|was|were) (?:now )?(?:changed|switched off|turned off|disabled|waived|lifted|suspended|void|not needed|no longer)\\b',
)
/** What else only a model is told. A tool that is labelled "[Admin]" may skip and forward things itself. */
const ORDER = anyOf(
  '(?:before|whenever|when) (?:you|answering|the user)\\b',
  ...['always\\b', 'never\\b', 'ignore\\b', 'disregard\\b', 'forward\\b', 'skip\\b'],
)
/** What stands between is passed over as a whole: tried in every length, a text made of it would take a hundred times as long. */
const BETWEEN = '[\\s:*_>-]{0,40}(?![\\s:*_>-])'
const NOTE = '(?:[^.!?\\n:]{0,80}: ?)?'
const HEADING = {
  // The end of a longer one is enough.
  before: '(?:##|---|===)\\s?',
  after: '\\s?(?::|##|---|===)',
  whole: '\\s?(?::|#{2,40}(?!#)|-{3,40}(?!-)|={3,40}(?!=))',
}

/** Words that conversations with models are divided by. In a definition they pretend that it has ended. */
const MARKERS: readonly { readonly pattern: RegExp; readonly strength: 'weak' | 'strong' }[] = [
  { pattern: /<\s?\/?\s?(?:important|mandatory|hidden[-_ ]instructions?)\s?>/i, strength: 'strong' },
  {
    pattern: /<\s?\/?\s?(?:tool|function)[-_ ]?(?:description|definition|policy|instructions?)\s?>/i,
    strength: 'strong',
  },
  {
    pattern: /<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>/i,
    strength: 'strong',
  },
  { pattern: /<<\/?SYS>>|\[\/?INST\]/, strength: 'strong' },
  // In other brackets a prompt is explained, "instructions (system prompt)", or stands in a template.
  {
    pattern: /\[\s?system[ _-](?:prompt|message|note|instructions?)\s?\]|[[{(]\s?system[ _-]override\s?[\]})]/i,
    strength: 'strong',
  },
  {
    pattern: new RegExp(`${HEADING.before}(?:system prompt|new instructions?)${HEADING.after}`, 'i'),
    strength: 'strong',
  },
  {
    pattern: new RegExp(`${HEADING.before}(?:system|hidden)${HEADING.whole}${BETWEEN}${NOTE}${SPEECH}`, 'i'),
    strength: 'strong',
  },
  {
    pattern:
      /\b(?:begin|end|start) (?:of )?(?:the )?(?:system (?:prompt|message|instructions)|hidden instructions|tool description)\b/i,
    strength: 'strong',
  },
  { pattern: new RegExp(`${HEADING.before}(?:system|hidden)${HEADING.after}`, 'i'), strength: 'weak' },
  { pattern: /(?:^|[\n>.] ?)(?:system|assistant|developer) ?: ?[A-Z]/i, strength: 'weak' },
  { pattern: /<\s?\/?\s?(?:system|instructions?|assistant|critical|urgent|rules?|directive)\s?>/i, strength: 'weak' },
]

/** What pretends to be another part of the conversation. */
export function markersIn({ text, role: place }: FoundString): Draft | undefined {
  const tag = closedTagIn(text)
  if (tag !== undefined) return draft(text, tag, 'strong')
  const role = roleIn(text)
  if (role?.strength === 'strong') return draft(text, role.start, 'strong')
  for (const { pattern, strength } of MARKERS) {
    const match = pattern.exec(text)
    if (match) return draft(text, match.index, strength)
  }
  // A value may be a line of a log. An order there would be held back, so this is none.
  return role && { ...draft(text, role.start, 'weak'), family: place === 'text' ? 'override' : 'hint' }
}

const ROLE = /[[{]\s?(?<role>system|admin|developer)\s?[\]}]|[({]\s?system prompt\s?[)}]/gi
const SPOKEN = new RegExp(`^${BETWEEN}${NOTE}${SPEECH}`, 'i')
const ORDERED = new RegExp(`^${BETWEEN}${NOTE}${ORDER}`, 'i')
const FOLLOWED = new RegExp(`^${BETWEEN}\\p{L}`, 'u')
/** More than it takes to see how a turn begins. */
const BEGINNING = 300

interface Role {
  readonly start: number
  readonly strength: Draft['strength']
}

/** The first that the model is spoken to in, or else the first that may be one. */
function roleIn(text: string): Role | undefined {
  let weak: Role | undefined
  for (const { 0: label, index: start, groups } of text.matchAll(ROLE)) {
    if (!beginsSentence(text, start)) continue
    const strength = strengthOfRole(groups?.role, text.slice(start + label.length, start + label.length + BEGINNING))
    if (strength === 'strong') return { start, strength }
    if (strength === 'weak') weak ??= { start, strength }
  }
  return weak
}

/** Elsewhere a role is who may call a tool, or a value. */
function beginsSentence(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - LONGEST_GAP), start)
  return SENTENCE_BEGINS.test(before) || (start < LONGEST_GAP && before.trim() === '')
}

const LONGEST_GAP = 40
const SENTENCE_BEGINS = /[\n.!?>][^\S\n]*$/

/** Servers label what belongs together "[Admin]" or "[System]". In capitals, or in small letters, it is as turns are marked. */
function strengthOfRole(role: string | undefined, after: string): Draft['strength'] | undefined {
  const isMarkOfTurn = role === undefined || role === 'SYSTEM' || role === 'system'
  if (SPOKEN.test(after) || (isMarkOfTurn && ORDERED.test(after))) return 'strong'
  const isLoud = role === undefined || role === role.toUpperCase()
  return isLoud && FOLLOWED.test(after) ? 'weak' : undefined
}

const NAME = '(?:system|sys|secret|hidden|admin|override)(?:[-_ ]?\\w{1,20})?'
/** A tag that is opened or closed. Is it closed at once, there is nothing in it. */
const TAG = new RegExp(
  `<\\s?(?:(?<opened>${NAME})\\s?>(?!<\\s?/\\s?\\k<opened>\\s?>)|/\\s?(?<closed>${NAME})\\s?>)`,
  'gi',
)
const LONGEST_INSIDE = 1500

/**
 * Where a tag is opened that is closed again. Opened alone it may be a placeholder. Reads the text once: a pattern that looked for
 * the end of each would take long where none of a thousand has one.
 */
function closedTagIn(text: string): number | undefined {
  const opened = new Map<string, { readonly start: number; readonly end: number }>()
  for (const { 0: tag, index, groups } of text.matchAll(TAG)) {
    const name = (groups?.opened ?? groups?.closed ?? '').toLowerCase()
    const opening = opened.get(name)
    if (groups?.opened !== undefined) opened.set(name, { start: index, end: index + tag.length })
    else if (opening && index - opening.end <= LONGEST_INSIDE) return opening.start
  }
  return undefined
}

function draft(text: string, start: number, strength: Draft['strength']): Draft {
  const excerpt = excerptOf(text.slice(start, start + 120))
  const message = 'It pretends to be another part of the conversation.'
  return { rule: 'instruction', family: 'override', strength, excerpt, message }
}
