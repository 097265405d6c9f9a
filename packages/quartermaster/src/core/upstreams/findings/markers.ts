import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { anyOf } from './phrase.ts'
import type { FoundString } from './strings-in.ts'

/** How a turn begins that is meant for the model. Behind a label like "[Admin]" stands what the tool does. */
const SPEECH = `[\\s:*_>-]{0,10}(?:[^.!?\\n:]{0,80}: ?)?${anyOf(
  'you (?:are (?:now|no longer|to) |(?:must|should|shall|will|have to|now) (?!be |have ))',
  '(?:the |an? |any )?(?:assistant|model|agent|ai|llm) (?:must|should|shall|has to|is to) (?!be |have )',
  ...['from now on\\b', 'henceforth\\b', 'obey\\b', '(?:the |our )?polic(?:y|ies) (?:ha(?:s|ve) )?changed\\b'],
  'approve (?:everything|(?:every|all|any) (?:tool )?(?:calls?|actions?))\\b',
  '(?:(?:the|all|any|your|user) ){0,2}(?:polic(?:y|ies)|rules|instructions|guidelines|confirmations?|approvals?|restrictions?) (?:ha(?:s|ve) been|is|are|was|were) (?:now )?(?:changed|switched off|turned off|disabled|waived|lifted|suspended|void|not needed|no longer)\\b',
)}`
const HEADING = {
  before: '(?:#{2,6}|-{3,9}|={3,9})\\s?',
  after: '\\s?(?::|#{2,6}|-{3,9}|={3,9})',
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
  // Elsewhere, and before anything else, it is who may call a tool, a value, or a label of what belongs together.
  {
    pattern: new RegExp(
      `(?:^\\s{0,40}|[\\n.!?>][^\\S\\n]{0,40})[[{]\\s?(?:system|admin|developer)\\s?[\\]}]${SPEECH}`,
      'i',
    ),
    strength: 'strong',
  },
  {
    pattern: new RegExp(`${HEADING.before}(?:system prompt|new instructions?)${HEADING.after}`, 'i'),
    strength: 'strong',
  },
  {
    pattern: new RegExp(`${HEADING.before}(?:system|hidden)${HEADING.after}${SPEECH}`, 'i'),
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
export function markersIn({ text }: FoundString): Draft | undefined {
  const tag = closedTagIn(text)
  if (tag !== undefined) return draft(text, tag, 'strong')
  for (const { pattern, strength } of MARKERS) {
    const match = pattern.exec(text)
    if (match) return draft(text, match.index, strength)
  }
  return undefined
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
