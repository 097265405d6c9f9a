import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import type { FoundString } from './strings-in.ts'

/** Words that conversations with models are divided by. In a definition they pretend that it has ended. */
const MARKERS: readonly { readonly pattern: RegExp; readonly strength: 'weak' | 'strong' }[] = [
  { pattern: /<\s?\/?\s?(?:important|mandatory|hidden[-_ ]instructions?)\s?>/i, strength: 'strong' },
  // Opened and closed again. Opened alone it may be a placeholder.
  {
    pattern: /<\s?((?:system|sys|secret|hidden|admin|override)(?:[-_ ]?\w{1,20})?)\s?>[^]{1,1500}?<\s?\/\s?\1\s?>/i,
    strength: 'strong',
  },
  {
    pattern: /<\s?\/?\s?(?:tool|function)[-_ ]?(?:description|definition|policy|instructions?)\s?>/i,
    strength: 'strong',
  },
  {
    pattern: /<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>/i,
    strength: 'strong',
  },
  { pattern: /<<\/?SYS>>|\[\/?INST\]/, strength: 'strong' },
  {
    pattern: /[[{(]\s?(?:system|system[ _-](?:prompt|message|note|override|instructions?)|admin|developer)\s?[\]})]/i,
    strength: 'strong',
  },
  {
    pattern:
      /(?:#{2,6}|-{3,9}|={3,9})\s?(?:system|instructions?|system prompt|new instructions?|hidden)\s?(?::|#{2,6}|-{3,9}|={3,9})/i,
    strength: 'strong',
  },
  {
    pattern:
      /\b(?:begin|end|start) (?:of )?(?:the )?(?:system (?:prompt|message|instructions)|hidden instructions|tool description)\b/i,
    strength: 'strong',
  },
  { pattern: /(?:^|[\n>.] ?)(?:system|assistant|developer) ?: ?[A-Z]/i, strength: 'weak' },
  { pattern: /<\s?\/?\s?(?:system|instructions?|assistant|critical|urgent|rules?|directive)\s?>/i, strength: 'weak' },
]

/** What pretends to be another part of the conversation. */
export function markersIn({ text }: FoundString): Draft | undefined {
  for (const { pattern, strength } of MARKERS) {
    const match = pattern.exec(text)
    if (!match) continue
    const excerpt = excerptOf(text.slice(match.index, match.index + 120))
    const message = 'It pretends to be another part of the conversation.'
    return { rule: 'instruction', family: 'override', strength, excerpt, message }
  }
  return undefined
}
