import type { ComparedNames } from './known-names.ts'
import { anyOf } from './phrase.ts'
import type { PlainSentence } from './plain-sentence.ts'
import { ownerOf } from './tool-owners.ts'

/** Tools that well-known agents bring with them: no server lists them, and still there is somebody who has them. */
const COMPOUND = anyOf(
  ...['run_terminal_cmd', 'run_in_terminal', 'run_command', 'execute_command', 'edit_file', 'write_file', 'read_file'],
  ...['write_to_file', 'replace_in_file', 'insert_edit_into_file', 'apply_diff', 'apply_patch', 'codebase_search'],
  ...['str_replace_editor', 'str_replace_based_edit_tool'],
)
/** Ordinary words, until they are called tools. */
const SINGLE = anyOf('bash', 'shell', 'terminal')
const NAME = new RegExp(`\\b(?:${COMPOUND}\\b|${SINGLE}(?= tool\\b))`, 'gu')

const WHENEVER = /\b(?:before|after|when|whenever|each time|every time|prior to)\b[^,;:]*$/u
/** More than stands between that and the name. */
const LOOK_BACK = 60

/**
 * That it gets something else than it was called with. To use it before this tool, or after it, is what honest servers advise
 * too, and mostly they mean one of their own that is switched off.
 */
const TAMPERS = new RegExp(
  [
    '\\b(?:call|invoke|use|run) this(?: tool| function)?(?: first)?,? (?:and|then)\\b.{0,60}\\b(?:it|this|that|which)(?: tool)? (?:returns?|returned|answers?|gives?|outputs?)\\b',
    '\\b(?:replace|change|modify|append|prepend|overwrite|substitute)\\b.{0,60}\\b(?:arguments?|parameters?|commands?)\\b(?!,? (?:and|then) (?:try again|retry))',
  ].join('|'),
  'u',
)

/** A tool of an agent's own whose calls a sentence wants changed. What a server here has as well is looked at elsewhere. */
export function clientToolMisused({ plain, says }: PlainSentence, names: ComparedNames): string | undefined {
  for (const { 0: name, index } of plain.matchAll(NAME)) {
    if (!says(TAMPERS)) return undefined
    if (WHENEVER.test(plain.slice(Math.max(0, index - LOOK_BACK), index)) && isOfNoServer(name, names)) return name
  }
  return undefined
}

function isOfNoServer(name: string, names: ComparedNames): boolean {
  const { isSibling, named, shared } = ownerOf(name, names)
  return !isSibling && named === undefined && shared === undefined
}
