import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { wordsIn } from './inner-names.ts'
import { anyOf } from './phrase.ts'
import { plainText } from './plain-text.ts'
import type { FoundString } from './strings-in.ts'

/**
 * What a parameter wants from the model by its name alone. Models fill such parameters unasked: a calculator that has one gets the
 * conversation.
 */
export function wantedBy({ field, text, role }: FoundString): Draft | undefined {
  if (role !== 'name' || text.length > LONGEST || !PARAMETER.test(field)) return undefined
  if (!WANTED.test(plainText(wordsIn(text).join(' ')))) return undefined
  const message = 'It has a parameter that is called after what only the model has.'
  return { rule: 'instruction', family: 'wanted', strength: 'weak', excerpt: excerptOf(text), message }
}

const LONGEST = 64
const PARAMETER = /^inputSchema\b.*\bproperties(?:\.[^.]+|\[[^\n]+\])$/u

const WHOLE = anyOf('full', 'entire', 'whole', 'complete', 'current', 'previous', 'prior', 'raw')
const TALK = anyOf('conversation', 'chat', 'dialogue?')
const WANTED = new RegExp(
  `^(?:(?:the|your|my|all|${WHOLE}) ){0,2}${anyOf(
    'system ?(?:prompt|instruction)s?',
    `${anyOf(TALK, 'message')} ?(?:history|transcript|log)`,
    `${TALK} so far`,
    `${WHOLE} ${TALK}(?: so far)?`,
    '(?:previous|prior|earlier) messages',
    'chain ?of ?thoughts?',
    '(?:internal|hidden|model) (?:reasoning|thoughts)',
    'tool ?(?:call|use)s? ?(?:history|log)',
    '(?:previous|prior|earlier|most recent|last) tool calls?',
    'available ?tools',
    'tools? ?list',
    'list of tools',
  )}(?: (?:so far|text|contents?|verbatim|json))?$`,
  'u',
)
