import { plainText } from './plain-text.ts'

/**
 * Whether a definition says of itself that it is about what people write to each other or to models. Such a tool has an honest
 * use for words that no calculator needs.
 */
export function isAboutTalk(definition: unknown): boolean {
  if (typeof definition !== 'object' || definition === null) return false
  const { name, title, description } = definition as Record<string, unknown>
  const words = [name, title].map(value => (typeof value === 'string' ? value.slice(0, LONGEST) : ''))
  const first = typeof description === 'string' ? (plainText(description.slice(0, LONGEST)).split('\n')[0] ?? '') : ''
  return TALK.test([...words, first].join(' ').toLowerCase())
}

const LONGEST = 400
const TALK =
  /conversation|chat|dialog|messag|transcript|thread|prompt|\bllm|language model|memor|remember|meeting|discussion|summar|e-?mail|inbox|slack|comment|repl(?:y|ies)|feedback|ticket|handover|hand over|escalat|assistant|sub-?agent|delegat|\bmodels?\b|\bai\b|\bagents?\b/u
