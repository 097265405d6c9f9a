import type { ComparedNames, Owner } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import { lookedUp, ownerInRun } from './tool-owners.ts'
import { around, isCalledTool, isToBeCalled, type ToolWord, toolWordsIn } from './tool-words.ts'

/** A tool of others that a sentence names. */
export interface NamedTool extends ToolWord {
  /** Its name, where it is a tool of another server. */
  readonly known: string | undefined
  /** It has that name only here: no other word is written like it by chance. */
  readonly isOnlyHere: boolean
  /** The word can be nothing else than the name of a tool. */
  readonly isCertain: boolean
  /** It is a tool of this server as well. */
  readonly isShared: boolean
}

/** Words that are names of tools, or called that, and none of this server. */
export function* toolsOfOthers(sentence: string, names: ComparedNames): Generator<NamedTool> {
  for (const word of toolWordsIn(sentence)) {
    const owner = ownerInRun(word, names)
    if (!owner) return
    const tool = owner.isSibling ? undefined : toolOf(word, owner, names)
    if (tool && (!isGlued(tool) || tool.isOnlyHere || isInListOfTools(tool, names))) yield tool
  }
}

function toolOf(word: ToolWord, owner: Owner, names: ComparedNames): NamedTool | undefined {
  const { named, shared, perhaps } = owner
  const isOnlyHere = names.others.namedOnlyHere(lettersOf(named ?? shared ?? '')) !== undefined
  if (shared !== undefined) return { ...word, known: shared, isOnlyHere, isCertain: false, isShared: true }
  const tool = { ...word, isOnlyHere, isShared: false }
  if (named !== undefined) return { ...tool, known: named, isCertain: isCertain(tool, named, names) }
  if (word.isSingle || isGlued(word)) return undefined
  if (isCalledTool(word)) return { ...tool, known: undefined, isCertain: !isParameter(word, names) }
  return perhaps !== undefined || isCalledLikeTool(word) ? { ...tool, known: perhaps, isCertain: false } : undefined
}

/** Where it is an ordinary word, or what it calls its own arguments, that may be what somebody's tool is called by chance. */
function isCertain(word: ToolWord & Pick<NamedTool, 'isOnlyHere'>, named: string, names: ComparedNames): boolean {
  if (word.isSingle) return word.isOnlyHere && named !== word.word
  if (word.isOnlyHere || !isParameter(word, names)) return true
  return isCalledTool(word) || isToBeCalled(word) || SLANDERED.test(word.sentence)
}

/** Parameters get deprecated as tools do, and are no danger. */
const SLANDERED = /\b(?:unsafe|insecure|compromised|malicious|leaks?|vulnerable)\b/u

function isParameter({ word }: ToolWord, { parameters }: ComparedNames): boolean {
  return parameters?.has(word) === true
}

/** Whether it is a part of something longer, like a path or an address. */
function isGlued({ parts }: ToolWord): boolean {
  return parts.size > 1
}

/** Whether all else that it is written in one with are names of tools too: `read_file/write_file`. */
function isInListOfTools({ parts }: ToolWord, names: ComparedNames): boolean {
  for (const part of parts) {
    const owner = lookedUp(part, names)
    if ((owner?.named ?? owner?.shared) === undefined) return false
  }
  return true
}

/** Whether it is called, though nobody knows it. */
function isCalledLikeTool(word: ToolWord): boolean {
  return CALLED.test(around(word).before) && CALLS_ITSELF.test(word.sentence)
}

const CALLED =
  /\b(?:before|after|when|whenever|each time|every time|instead of) (?:you )?(?:call|calling|invoke|invoking|use|using|run|running) $/u
const CALLS_ITSELF = /\b(?:call|invoke|use|run) this\b/u
