import type { ComparedNames } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import type { NamedTool } from './named-tools.ts'
import { ownerOf } from './tool-owners.ts'
import { around, type NamedPlace } from './tool-words.ts'

const CALL = '(?:call|use|invoke|run|execute|trigger)'
const TOOL = '(?:tool|function|command|server|one)'
const AROUND = '(?:before|prior to|after|instead of|rather than|in place of)'
const NAME = '([a-z][\\w./:-]*)(?:\\(\\))?'
const OR = '(?:,|,? (?:or|and|nor))'
const ANOTHER = '[\\w./@:()<>-]{1,80}'
/** What may stand between that and the name of the tool: also others, where it is one of several. */
const FILLING = `(?:(?:you|each|every|any|all|to|of|the|a|calls?|calling|uses?|using|invoke|invoking|run|running|execute|executing|tool|function) ){0,6}(?:${ANOTHER}${OR} ){0,4}`

/** `call this before …`, or only `call before …`. What one may do is no order. */
const ORDER_FIRST = new RegExp(
  `(?<!\\b(?:can|may|might|could|optionally) )\\b${CALL}(?: (?:the )?${NAME}(?: ${TOOL})?)??(?: (?:first|always|right|immediately|directly|just|shortly|only)){0,3},? ${AROUND} ${FILLING}$`,
  'u',
)
/** `before …, call this`. */
const ORDER_LAST = { before: new RegExp(`\\b${AROUND} ${FILLING}$`, 'u'), after: lastOrder() }

function lastOrder(): RegExp {
  const asked = '(?: (?:please|always|first|then|just|simply|you|should|must|need to|have to)){0,4}'
  const used = '(?: is (?:called|used|invoked|run)| (?:use|call|invocation|execution|run)s?)?'
  // `use this path` says nothing of a tool.
  const end = `(?=$|[,;:)]| (?:${TOOL}|first|to|so|and|with|on|for|in|instead|or|if|when|again)\\b)`
  return new RegExp(`^(?:${OR} ${ANOTHER}){0,4}?(?: ${TOOL})?${used},?${asked} ${CALL} (?:the )?${NAME}${end}`, 'u')
}

/**
 * Whether a sentence orders that another tool is called before, after or instead of the one that it names there: one of this
 * server, or one of a third, which may be of the same hand.
 */
export function isOrderedAround(tool: NamedTool, names: ComparedNames): boolean {
  const called = calledAround(tool)
  if (called === undefined) return false
  // A server that has both, as others do, speaks of its own.
  if (tool.isShared) return isOwn(called, names) && ownerOf(called, names).shared === undefined
  return isOwn(called, names) || isThird(called, tool, names)
}

function calledAround(place: NamedPlace): string | undefined {
  const { before, after } = around(place)
  const first = ORDER_FIRST.exec(before)
  if (first) return first[1] ?? 'this'
  const [, last] = ORDER_LAST.before.test(before) ? (ORDER_LAST.after.exec(after) ?? []) : []
  // `before …, call it` is about the tool that was named.
  return last === 'it' ? undefined : last
}

function isOwn(called: string, names: ComparedNames): boolean {
  return SELF.has(called) || names.spelled.has(called) || ownerOf(called, names).isSibling === true
}

const SELF: ReadonlySet<string> = new Set(['this', 'these', 'me', 'it'])

/** Ordinary words are no names here, and what reads may be called first. */
function isThird(called: string, { sentence }: NamedPlace, names: ComparedNames): boolean {
  const { named } = ownerOf(called, names)
  if (named === undefined || !/[_-]/u.test(called)) return false
  const isOnlyHere = names.others.namedOnlyHere(lettersOf(named)) !== undefined
  return isOnlyHere || !READS.test(named) || sentence.says(MORE)
}

/**
 * Whether a tool is merely to be used first, and only reads, like `read_file`. That is what a server says that edits files, and
 * there is such a tool in every project. A name that is only of our making is none that it can mean.
 */
export function isMerelyRead({ known, isOnlyHere, ...place }: NamedTool): boolean {
  const { before } = around(place)
  const isReading = known !== undefined && !isOnlyHere && READS.test(known)
  return isReading && USED_FIRST.test(before) && !CONDITION.test(before) && !place.sentence.says(MORE)
}

const READS = /^(?:read|list|search|get|find|view|show|describe|fetch)[_-]/u
const USED_FIRST = /\b(?:use|call|run|invoke) (?:the )?$/u
/** When it is called otherwise, and not that it is to be called. */
const CONDITION = /\b(?:before|after|when|whenever|time|once|if|of|prior to)\b[^,;:]*$/u
/** What has to be done with it beside reading. */
const MORE =
  /\b(?:never|replace|instead|do not|dont|set|change|pass|add|modify|redirect|copy|send|include|append|forward|put|write)\b/u
