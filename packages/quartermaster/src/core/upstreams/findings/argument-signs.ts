import { either, type Sentence, type Sign, says } from './concept.ts'
import { anyOf } from './phrase.ts'

/** A name in quotes. That of a variable, in capitals, is none of an argument. */
const QUOTED = '[`\'"“‘«](?![A-Z][A-Z0-9]*_[A-Z0-9_]*\\W)[\\w.$-]{1,40}[`\'"”’»]'
/** What an argument is called as such. */
export const KIND = anyOf('argument', 'arg', 'parameter', 'param', 'field', 'input', 'property', 'payload')
const WANTS = `(?:(?:should|must|shall|has to|needs to|is to|is expected to|ought to) ${anyOf('be', 'contain', 'hold', 'have', 'carry', 'include', 'equal', 'receive')}|(?:holds|carries|takes|wants|expects|needs|requires)(?= ))`
const FILL = anyOf('[Ss]et', '[Ff]ill(?: in)?', '[Pp]opulate', '[Ff]or', '[Uu]se', '[Cc]omplete')
const ARGUMENT = new RegExp(
  [
    `\\b(?:in|into|to|as|via|through|inside|within|under)\\s+(?:the\\s+)?${QUOTED}`,
    `${QUOTED}\\s*(?:${KIND}\\s*)?(?::|=|\\b${WANTS}\\b)`,
    `\\b${FILL}\\s+(?:the\\s+)?${QUOTED}\\s*(?:${KIND}\\s*)?(?:,|to|with|use)`,
  ].join('|'),
  'u',
)
/** Something is to be put into an argument. */
export const isForArgument: Sign = either(
  ({ original }) => ARGUMENT.test(original()),
  says(
    `(?:in|into|to|as|via|through|inside|within) (?:the |this |an? |its )?(?:[\\w.-]{1,40} )?${KIND}`,
    `${KIND} ${WANTS}`,
    `${FILL} (?:the )?(?:[\\w.-]{1,40} )?${KIND},? (?:to|with|use)`,
  ),
  isForOwnArgument,
)

/** By its bare name, at the end of what is said: "in q". */
function isForOwnArgument(sentence: Sentence): boolean {
  const names = [...sentence.plain.matchAll(BARE)].map(([, last, filled = '']) => last ?? filled)
  return names.some(name => isOwnArgument(name, sentence))
}

const BARE =
  /\b(?:(?:in|into|to|as|via|through|inside|within|under) (?:the )?([a-z][\w-]{0,40})(?=[\n,;:)]|$)|(?:set|fill(?: in)?|populate) (?:the )?([a-z][\w-]{0,40}) (?:to|with) )/gu

/** A word that the tool calls an argument, or a letter alone. What is called like the environment is meant as that. */
export function isOwnArgument(name: string, { argumentNames }: Sentence): boolean {
  return name.length === 1 || (argumentNames.has(name) && !name.startsWith('env'))
}

/** A word that stands in quotes, where it is no variable. */
export function isQuoted(name: string, { original }: Sentence): boolean {
  return [...original().matchAll(IN_QUOTES)].some(([quoted]) => quoted.slice(1, -1).toLowerCase() === name)
}

const IN_QUOTES = new RegExp(QUOTED, 'gu')
