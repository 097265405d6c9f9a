import type { MessageWord } from './message-words.ts'

/** What is said of a file that was just made. */
const MADE = new Set(
  'saved wrote written created generated exported stored placed produced rendered compiled downloaded'.split(' '),
)
/** It is so where it is said to be in, at or under something. */
const BE = new Set(['is', 'are', 'be'])
const WHERE = new Set(['in', 'at', 'under'])
/** A file that somebody has sent us is one that they have. */
const HAD = new Set('read open opened got received parsed checked reviewed loaded in from of your'.split(' '))
const ARTICLES = new Set(['the', 'your', 'a'])
const OTHERS = new Set(['you', 'they', 'he', 'she'])

/** So many words may stand between what is said and the name: "saved the whole summary as". */
const MOST_BETWEEN = 6
/** What words are made of that a sentence goes on with. */
const PLAIN = /^[\p{L}\p{N}_-]{1,30}:?$/u
const BETWEEN = new Set(` ,"'’\`*()[]`)
const QUOTES = new Set(`"'\`*)`)

/** Whether the file name at this place is said to be that of a file which whoever writes has made. */
export function isSaidMade(words: readonly MessageWord[], at: number): boolean {
  return isSaidReady(words, at) || (isSaidBefore(words, at) && !isTheirs(words, at))
}

function isSaidBefore(words: readonly MessageWord[], at: number): boolean {
  for (let i = at - 1; i >= 0 && i >= at - 1 - MOST_BETWEEN; i--) {
    if (!goesOn(words, i) || !PLAIN.test(textAt(words, i))) return false
    if (saysMade(words, i)) return true
  }
  return false
}

/** Whether the words at this place and behind it are of one sentence. A name may stand in a line of its own behind a colon. */
function goesOn(words: readonly MessageWord[], at: number): boolean {
  const gap = words[at + 1]?.gap ?? ''
  const rest = textAt(words, at).endsWith(':') ? gap.replace('\n', '') : gap
  return [...rest].every(character => BETWEEN.has(character))
}

function saysMade(words: readonly MessageWord[], at: number): boolean {
  const word = wordAt(words, at)
  if (MADE.has(word)) return true
  if (WHERE.has(word)) return BE.has(wordAt(words, wordAt(words, at - 1) === 'now' ? at - 2 : at - 1))
  return word === 'file' && !HAD.has(wordAt(words, at - 1)) && !isHadOne(words, at)
}

/** "I read the file". */
function isHadOne(words: readonly MessageWord[], at: number): boolean {
  return ARTICLES.has(wordAt(words, at - 1)) && HAD.has(wordAt(words, at - 2))
}

/** "report.pdf is now ready". */
function isSaidReady(words: readonly MessageWord[], at: number): boolean {
  if (!isFollowed(words, at) || !['is', 'are'].includes(wordAt(words, at + 1))) return false
  return /^ready\b/i.test(textAt(words, wordAt(words, at + 2) === 'now' ? at + 3 : at + 2))
}

/** "data.csv that you sent". */
function isTheirs(words: readonly MessageWord[], at: number): boolean {
  if (!isFollowed(words, at)) return false
  return OTHERS.has(wordAt(words, ['that', 'which'].includes(wordAt(words, at + 1)) ? at + 2 : at + 1))
}

/** Whether the next word is about the name: nothing but the quotes around it stands between. */
function isFollowed(words: readonly MessageWord[], at: number): boolean {
  const gap = words[at + 1]?.gap ?? ''
  return gap.endsWith(' ') && !textAt(words, at).endsWith('.') && [...gap.slice(0, -1)].every(each => QUOTES.has(each))
}

function textAt(words: readonly MessageWord[], at: number): string {
  return words[at]?.text ?? ''
}

/** Longer ones are none of ours, and a text may be one long word. */
const LONGEST_WORD = 30

function wordAt(words: readonly MessageWord[], at: number): string {
  const text = textAt(words, at)
  return text.length > LONGEST_WORD ? '' : text.replace(/:$/, '').toLowerCase()
}
