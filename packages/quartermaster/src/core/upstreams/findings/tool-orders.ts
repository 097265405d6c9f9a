import type { ComparedNames } from './known-names.ts'
import { ownerOf } from './tool-owners.ts'

const CALL = '(?:call|use|invoke|run|execute|trigger)'
const TOOL = '(?:tool|function|command|server|one)'
const AROUND = '(?:before|prior to|after|instead of|rather than|in place of)'
/** What may stand between that and the name of the tool. */
const FILLING =
  '(?:(?:you|each|every|any|all|to|of|the|a|calls?|calling|uses?|using|invoke|invoking|run|running|execute|executing|tool|function) ){0,6}'

/** `call this before …`. What one may do is no order. */
const ORDER_FIRST = new RegExp(
  `(?<!\\b(?:can|may|might|could|optionally) )\\b${CALL} (?:the )?([a-z][\\w-]*)(?: ${TOOL})?(?: (?:first|always|right|immediately|directly|just|shortly|only)){0,3} ${AROUND} ${FILLING}$`,
  'u',
)
/** `before …, call this`. */
const ORDER_LAST = { before: new RegExp(`\\b${AROUND} ${FILLING}$`, 'u'), after: lastOrder() }

function lastOrder(): RegExp {
  const asked = '(?: (?:please|always|first|then|just|simply|you|should)){0,3}'
  // `use this path` says nothing of a tool.
  const end = `(?=$|[,;:)]| (?:${TOOL}|first|to|so|and|with|on|for|in|instead|or|if|when|again)\\b)`
  return new RegExp(
    `^(?: ${TOOL})?(?: is (?:called|used|invoked|run))?,?${asked} ${CALL} (?:the )?([a-z][\\w-]*)${end}`,
    'u',
  )
}

/** A sentence, and where in it a tool is named. */
export interface NamedPlace {
  readonly sentence: string
  readonly word: string
  readonly index: number
}

/** Whether a sentence orders that a tool of this server is called before, after or instead of the one that it names there. */
export function isOrderedAround({ sentence, word, index }: NamedPlace, names: ComparedNames): boolean {
  const before = sentence.slice(Math.max(0, index - LOOK_AROUND), index)
  const after = sentence.slice(index + word.length, index + word.length + LOOK_AROUND)
  const [, first] = ORDER_FIRST.exec(before) ?? []
  if (first !== undefined) return first === 'it' || isOwn(first, names)
  const [, last] = ORDER_LAST.before.test(before) ? (ORDER_LAST.after.exec(after) ?? []) : []
  return last !== undefined && isOwn(last, names)
}

/** Further away than this it is said of something else. */
const LOOK_AROUND = 120

function isOwn(word: string, names: ComparedNames): boolean {
  return SELF.has(word) || names.spelled.has(word) || ownerOf(word, names).isSibling === true
}

const SELF: ReadonlySet<string> = new Set(['this', 'these', 'me'])
