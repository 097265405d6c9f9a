import type { ComparedNames } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import { ownerOf } from './tool-owners.ts'

/** Whether an order to call a tool says at once before or rather than which one, and that is one of the same server. */
export function leadsToSibling(plain: string, names: ComparedNames): boolean {
  const [, called = ''] = LEADS.exec(plain) ?? []
  const [word] = IDENTIFIER.exec(called) ?? []
  if (word !== undefined) return ownerOf(word, names).isSibling === true
  // Whoever calls a tool of its own "Any other" has not said which.
  if (ANY.test(called)) return false
  const [title] = /^(?:[a-z0-9]+ ){1,4}?(?=tool\b|function\b)/u.exec(called) ?? []
  return title !== undefined && names.titles.has(lettersOf(title))
}

const LEADS =
  /^[^\n]{0,60}?\b(?:before|prior to|over|instead of|rather than) (?:(?:you|using|use|calling|call|invoking|running|the) ){0,3}([^\n]{1,80})/u
const IDENTIFIER = /^[a-z][a-z0-9]*(?:[_-]+[a-z0-9]+)+(?![\w/@]|\.\w)/u
const ANY = /^(?:your |of |my )*(?:any|all|every|each|other|others|another|everything|anything|most|some)\b/u
