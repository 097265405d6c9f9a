import { excerptOf, withoutEmoji } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import type { FoundString } from './strings-in.ts'

/** What it is in. */
export interface Whole {
  /** Its name is for people: it may be the subject of a mail. */
  readonly isResource: boolean
}

interface HiddenKind {
  readonly what: string
  readonly pattern: RegExp
  readonly strength: 'weak' | 'strong'
}

/** What is never shown, by what Unicode says of it, and not by a list that the next edition outgrows. */
const UNSHOWN = '\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\ufff9-\\ufffb'

/** One of them, but for these. */
function invisible(but: string): string {
  return `(?:(?![${but}])[${UNSHOWN}])`
}

/**
 * Characters that are in a text without being seen. Joiners, marks of direction and soft hyphens have honest uses in some
 * languages and come along when text is copied, so a few of them between words are worth a look and no more.
 */
const KINDS: readonly HiddenKind[] = [
  {
    what: 'tag characters, which spell out text that nobody sees',
    pattern: /[\u{e0000}-\u{e007f}]/u,
    strength: 'strong',
  },
  { what: 'characters that reverse the reading order', pattern: /[\u202a-\u202e\u2066-\u2069]/u, strength: 'strong' },
  { what: 'terminal escape sequences', pattern: /[\u001b\u009b\u009d\u0090]/u, strength: 'strong' },
  { what: 'control characters', pattern: /(?![\t\n\r])\p{Cc}/u, strength: 'strong' },
  {
    what: 'variation selectors in a row, which can carry text',
    pattern: /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{2}/u,
    strength: 'strong',
  },
  {
    what: 'variation selectors that belong to no character',
    pattern: /(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]/u,
    strength: 'strong',
  },
  {
    what: 'invisible characters inside a word',
    pattern: new RegExp(
      `[\\p{Script=Latin}\\p{Nd}_]${invisible('\\u00ad\\u061c\\u200e\\u200f\\ufe00-\\ufe0f')}+[\\p{Script=Latin}\\p{Nd}_]`,
      'u',
    ),
    strength: 'strong',
  },
  {
    what: 'invisible characters in a row',
    pattern: new RegExp(`${invisible('\\u061c\\ufe00-\\ufe0f')}{3}`, 'u'),
    strength: 'strong',
  },
  {
    what: 'invisible characters',
    // Scripts and emoji need joiners and what chooses among the forms of a character.
    pattern: new RegExp(
      `${invisible('\\u180b-\\u180d\\u180f\\u200c\\u200d\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}')}|[\\p{Co}\\p{Zl}\\p{Zp}]`,
      'u',
    ),
    strength: 'weak',
  },
  { what: 'a carriage return that goes back over the line', pattern: /\r(?!\n|$)/u, strength: 'weak' },
]

const ANY = new RegExp(`[\\p{Cc}\\p{Co}\\p{Zl}\\p{Zp}${UNSHOWN}]`, 'u')
const MARKUP = /<!--|display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0[^.\d]/i
/** Around what only some programs for mail show: ordinary where somebody writes mails, and a place to hide what is found beside it. */
const CONDITION =
  /<!--\[(?:if(?:[ .!()&|]|[gl]te?\b|mso\b|ie(?:mobile)?\b|vml\b|support(?:lists|fields|emptyparas)\b|\d){1,30}|endif)\]/gi

/** A comment that speaks to a model. Those for people tell what follows. */
const ORDERING_COMMENT =
  /<!--(?:(?!-->)[^]){0,400}?\b(?:(?:ignore|disregard|obey) (?:the|your|all|any|previous)|(?:call|invoke|run|execute|use) (?:the |this )?(?:\w+_\w+|\w+ tool|tool)\b|(?:you|assistant|the model|the ai) (?:must|should|shall|have to)|(?:dear|note to|for) (?:the )?(?:ai|assistant|model|llm|agent)s?\b|(?:send|upload|forward|read|pass|include) (?:the |your |all |any )?(?:users?|conversation|chat|secrets?|files?|keys?|passwords?|tokens?)\b)/i

/** Ordinary in a text. What is called by a name with one of them is another than the one that is shown. */
const BREAK: HiddenKind = { what: 'a line break or a tab', pattern: /[\t\n\r]/u, strength: 'strong' }
/** What a tool, a prompt or an argument is called by. Keys of examples and of `_meta` may be any text. */
const CALLED = /^name$|^arguments\.\d+\.name$|\bproperties(?:\.[^.]+|\[[^\n]+\])$/u

/** What stands in a string without being seen. In a name nothing may. */
export function hiddenIn({ text: whole, role, field }: FoundString, { isResource }: Whole): Draft | undefined {
  const text = ANY.test(whole) ? withoutEmoji(whole) : ''
  const isCalled = role === 'name' && !isResource && CALLED.test(field)
  for (const { what, pattern, strength } of isCalled ? [...KINDS, BREAK] : KINDS) {
    const match = text === '' ? undefined : pattern.exec(text)
    if (!match) continue
    const excerpt = excerptOf(text.slice(Math.max(0, match.index - 30), match.index + 60))
    return {
      rule: 'hidden',
      family: 'hidden',
      strength: role === 'name' ? 'strong' : strength,
      excerpt,
      message: `It has ${what}.`,
    }
  }
  const ordering = ORDERING_COMMENT.exec(whole)
  const markup = ordering ?? MARKUP.exec(whole)
  if (!markup || role === 'name') return undefined
  const excerpt = excerptOf(whole.slice(Math.max(0, markup.index - 10), markup.index + 100))
  return {
    rule: 'hidden',
    family: 'hidden',
    strength: ordering ? 'strong' : 'weak',
    excerpt,
    message: 'It has text that is not shown when it is rendered.',
    isPlain: !ordering && !MARKUP.test(whole.replace(CONDITION, '')),
  }
}
