import { isRecord } from '../../kernel/index.ts'
import { wordsIn } from './inner-names.ts'
import { plainText } from './plain-text.ts'

/**
 * Whether a definition says of itself that it is about what people write to each other or to models. Such a tool has an honest
 * use for words that no calculator needs.
 */
export function isAboutTalk(definition: unknown): boolean {
  if (!isRecord(definition)) return false
  const first = plainText(beginningOf(definition.description, LONGEST)).split('\n')[0] ?? ''
  return TALK.test([...wordsOfNames(definition), first].join(' ').toLowerCase())
}

/**
 * Whether it hands something to a model, or makes one work: it says so anywhere, or takes what models are asked with. It may
 * want their prompts and conversations, of which it says nothing but their names.
 */
export function isForModels(definition: unknown): boolean {
  if (!isRecord(definition)) return false
  const { description, inputSchema } = definition
  const { properties } = isRecord(inputSchema) ? inputSchema : {}
  const parameters = isRecord(properties) ? Object.keys(properties).slice(0, MOST_PARAMETERS) : []
  if (parameters.some(name => ASKED_WITH.test(wordsIn(name).join(' ')))) return true
  const text = [...wordsOfNames(definition), plainText(beginningOf(description, LONGEST_TEXT))].join(' ').toLowerCase()
  return MODELS.test(text) || isAboutTalk(definition)
}

/** As they are written and as they are read: an `agent` is in `find_agent` too. */
function wordsOfNames({ name, title }: Readonly<Record<string, unknown>>): string[] {
  const written = [name, title].map(value => beginningOf(value, LONGEST))
  return [...written, ...written.flatMap(wordsIn)]
}

function beginningOf(value: unknown, length: number): string {
  return typeof value === 'string' ? value.slice(0, length) : ''
}

const LONGEST = 400
const LONGEST_TEXT = 2_000
/** No model is asked with more of them, and there may be a hundred thousand. */
const MOST_PARAMETERS = 100
const TALK =
  /conversation|chat|dialog|messag|transcript|thread|prompt|\bllm|language model|memor|remember|meeting|discussion|summar|e-?mail|inbox|slack|comment|repl(?:y|ies)|feedback|ticket|handover|hand over|escalat|assistant|sub-?agent|delegat|\bmodels?\b|\bai\b|\bagents?\b/u
const MODELS =
  /\bllms?\b|\bmodels?\b|\bai\b|\b(?:sub-?)?agents?\b|assistants?\b|\b(?:bots?|workers?|personas?|traces?|evals?|evaluations?|inference|completions?)\b|\bgpt|claude|gemini|llama|mistral|openai|anthropic|deepseek|qwen|\bgrok\b|perplexity|hugging ?face/u
const ASKED_WITH =
  /^(?:(?:user )?prompt|user message|messages|model(?: id)?|llm(?: \w{1,20})?|(?:agent|assistant)(?: id| name)?|temperature|max (?:\w{1,20} )?tokens|top p|response format)$/u
