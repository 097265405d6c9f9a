import type { ComparedNames, Owner } from './known-names.ts'
import { lettersOf } from './look-alikes.ts'
import type { PlainSentence } from './plain-sentence.ts'
import { isOrdinary, lookedUp, ownerInRun, ownerOfAny } from './tool-owners.ts'
import {
  around,
  compoundWordsIn,
  isCalledTool,
  isToBeCalled,
  type Run,
  type ToolWord,
  toolWordsIn,
} from './tool-words.ts'

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
  /** It is called a tool, and another server here has one that it calls so. */
  readonly isCalledByItsServer: boolean
  /** It is what the definition calls one of its arguments, or a value of one. */
  readonly isParameter: boolean
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

/**
 * The same of what is written out as agents call it, and of what is called a tool, wherever it stands. No honest server can know
 * what a tool is called only here. They are not counted: nothing else is made of the words of such a sentence, and a long manual
 * has many.
 */
export function* toolsMentioned(sentence: PlainSentence, names: ComparedNames): Generator<NamedTool | undefined> {
  const uncounted = { ...names, looked: undefined }
  for (const word of compoundWordsIn(sentence)) {
    const owner = ownerMentioned(word, uncounted)
    const tool = owner.isSibling ? undefined : toolOf(word, owner, uncounted)
    yield tool && (isWrittenOut(tool) || (tool.isCalledByItsServer && tool.isCertain)) ? tool : undefined
  }
}

/** `mail.send_mail` is meant for the tool of "mail", where it is in no address. */
function ownerMentioned(word: ToolWord, names: ComparedNames): Owner {
  const isJoined = word.joined !== undefined && !word.isSingle && !word.run.isAddress
  const named = isJoined ? names.others.namedOnlyHere(lettersOf(word.joined ?? '')) : undefined
  return named === undefined || names.own.has(lettersOf(word.word)) ? ownerOfAny(word.word, names) : { named }
}

/** Whether a word is the name that a tool has only here, and neither merely ends with it nor is an ordinary word. */
function isWrittenOut({ word, joined, known = '', isOnlyHere, isShared }: NamedTool): boolean {
  if (!isOnlyHere || isShared || isOrdinary(word)) return false
  const letters = lettersOf(known)
  return word.includes('__') || [word, word.replace(/s$/u, ''), joined ?? ''].some(one => lettersOf(one) === letters)
}

function toolOf(word: ToolWord, owner: Owner, names: ComparedNames): NamedTool | undefined {
  const { named, shared, perhaps } = owner
  const isOnlyHere = names.others.namedOnlyHere(lettersOf(named ?? shared ?? '')) !== undefined
  const found = { ...word, isOnlyHere, isCalledByItsServer: false, isParameter: isParameter(word, names) }
  if (shared !== undefined) return { ...found, known: shared, isCertain: false, isShared: true }
  const tool = { ...found, isShared: false }
  if (named !== undefined) return { ...tool, known: named, isCertain: isCertain(tool, named) }
  if (word.isSingle || isGlued(word)) return undefined
  if (isCalledTool(word)) {
    // What is called a tool is no ordinary word.
    const isCalledByItsServer = (perhaps ?? names.others.calledByItsServer(lettersOf(word.word))) !== undefined
    return { ...tool, known: undefined, isCertain: !tool.isParameter, isCalledByItsServer }
  }
  // What it calls its own arguments, and the values of these, it means.
  const isMeant = perhaps === undefined ? isCalledLikeTool(word) : !tool.isParameter
  return isMeant ? { ...tool, known: perhaps, isCertain: false } : undefined
}

/** Where it is an ordinary word, or what it calls its own arguments, that may be what somebody's tool is called by chance. */
function isCertain(word: ToolWord & Pick<NamedTool, 'isOnlyHere' | 'isParameter'>, named: string): boolean {
  if (word.isSingle) return word.isOnlyHere && named !== word.word
  if (word.isOnlyHere ? !isOrdinary(word.word) : !word.isParameter) return true
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
