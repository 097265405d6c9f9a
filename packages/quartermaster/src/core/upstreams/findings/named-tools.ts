import type { ComparedNames, Owner } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import type { PlainSentence } from './plain-sentence.ts'
import { lookedUp, ownerInRun } from './tool-owners.ts'
import { around, isCalledTool, isToBeCalled, type Run, type ToolWord, toolWordsIn } from './tool-words.ts'

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

/** Words that are names of tools, or called that, and none of this server. Nothing for one that is none: every word is a step. */
export function* toolsOfOthers(sentence: PlainSentence, names: ComparedNames): Generator<NamedTool | undefined> {
  const isListOfTools = listsOfTools(names)
  for (const word of toolWordsIn(sentence)) {
    const owner = ownerInRun(word, names)
    if (!owner) return
    const tool = owner.isSibling ? undefined : toolOf(word, owner, names)
    yield tool && (!isGlued(tool) || tool.isOnlyHere || isListOfTools(tool.run)) ? tool : undefined
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
  return isCalledTool(word) || isToBeCalled(word) || word.sentence.says(SLANDERED)
}

/** Parameters get deprecated as tools do, and are no danger. */
const SLANDERED = /\b(?:unsafe|insecure|compromised|malicious|leaks?|vulnerable)\b/u

function isParameter({ word }: ToolWord, { parameters }: ComparedNames): boolean {
  return parameters?.has(word) === true
}

/** Whether it is a part of something longer, like a path or an address. */
function isGlued({ run }: ToolWord): boolean {
  return run.parts.size > 1
}

/** Tells whether all that is written in one are names of tools, as in `read_file/write_file`. Of each found out once. */
function listsOfTools(names: ComparedNames): (run: Run) => boolean {
  const known = new Map<Run, boolean>()
  const isTool = (part: string) => {
    const owner = lookedUp(part, names)
    return (owner?.named ?? owner?.shared) !== undefined
  }
  return run => {
    const isList = known.get(run) ?? [...run.parts].every(isTool)
    known.set(run, isList)
    return isList
  }
}

/** Whether it is called, though nobody knows it. */
function isCalledLikeTool(word: ToolWord): boolean {
  return CALLED.test(around(word).before) && word.sentence.says(CALLS_ITSELF)
}

const CALLED =
  /\b(?:before|after|when|whenever|each time|every time|instead of) (?:you )?(?:call|calling|invoke|invoking|use|using|run|running) $/u
const CALLS_ITSELF = /\b(?:call|invoke|use|run) this\b/u
