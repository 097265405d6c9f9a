/** As much of it as tells which one it is: a text may be one long path. */
const SHOWN = 200

/** How much of a message is searched. A longer one names its files before, and the search blocks the event loop. */
const LOOKED_AT = 65_536

/**
 * The first link or path in a text that means a file which the reader cannot open; the names of files `sent` with the text are
 * allowed.
 */
export function fileNamedIn(text: string, sent: readonly string[] = []): string | undefined {
  const start = text.slice(0, LOOKED_AT)
  const found = NAMED.exec(start)?.[0] ?? relativeFileIn(start, sent)
  return found?.slice(0, SHOWN).replace(/[.,;:!?]+$/, '')
}

/** Where agents put files when they are not told better. Their links end after days, and many networks do not reach them. */
const UPLOAD_HOSTS = [
  '0x0.st',
  'bashupload.com',
  'catbox.moe',
  'file.io',
  'filebin.net',
  'gofile.io',
  'oshi.at',
  'pixeldrain.com',
  'temp.sh',
  'tmpfiles.org',
  'transfer.sh',
  'uguu.se',
  'wetransfer.com',
]

/** Where files are on machines and in containers. Anything else that begins with "/" may as well be the path of an address. */
const TOPS = 'Users|Volumes|app|data|home|media|mnt|opt|private|root|run|srv|tmp|usr|var|workdir|workspace|workspaces'

const REST = '[^\\s"\'`<>()\\[\\]{}|]'
const UPLOADED = UPLOAD_HOSTS.map(host => host.replaceAll('.', String.raw`\.`)).join('|')

const HERE = String.raw`localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\]`
const OWN_FILES = String.raw`api\/v1\/attachments\/`

/** What stands before a path: not the rest of an address, and not a word with a slash in it. */
const BEFORE = String.raw`(?<![\w/.~\\@+%-])`
/** What a folder may be called, where only the ending tells that it is none of an address. */
const NAME = String.raw`[\p{L}\p{N}_.@+-]`
// No character of a name stands before one: a text that is all slashes and names has one start, and is read once. With a start
// at every slash a message of a megabyte would keep everybody waiting for minutes.
const BEFORE_NAMES = String.raw`(?<![\p{L}\p{N}_.@+/~\\%-])`

const NAMED = new RegExp(
  [
    String.raw`\b(?:file|sandbox):\/${REST}*`,
    String.raw`\bhttps?:\/\/(?:[\w-]+\.)*(?:${UPLOADED})(?![\w.-])${REST}*`,
    // Readers are on other machines. The address of a page may stand there; that of a file is for `attachments`.
    String.raw`(?<!${REST})https?:\/\/(?:${HERE})(?::\d+)?\/(?:${OWN_FILES}${REST}+|${REST}*\.[A-Za-z]\w{0,7}(?![\w/]))`,
    String.raw`${BEFORE}\/(?:${TOPS})\/${REST}+`,
    // With the ending of a file it is one, whatever folder it begins with.
    String.raw`${BEFORE_NAMES}(?:\/${NAME}+)+\/[\p{L}\p{N}_@+-]${NAME}*\.[A-Za-z]\w{0,7}\b`,
    String.raw`${BEFORE}(?:~|\$\w+)\/${REST}+`,
    String.raw`${BEFORE}(?:[A-Za-z]:[\\/]|\\\\[\w.?-]+\\|%\w+%\\)${REST}+`,
  ].join('|'),
  'iu',
)

/** What people are given. The ending of a program's text is none of them: "React/Vue.js" is no file. */
const ENDINGS = new Set(
  (
    'csv tsv doc docx xls xlsx ppt pptx odt ods odp pdf rtf txt md log json jsonl yaml yml xml htm html zip tar gz tgz 7z ' +
    'png jpg jpeg gif webp svg bmp tif tiff mp3 mp4 wav webm mov parquet sqlite db ipynb epub ics'
  ).split(' '),
)
const LONGEST_ENDING = 7

/** The first path below a folder that only the agent has, or name of a file it made, which is not among those it sends. */
export function relativeFileIn(text: string, sent: readonly string[]): string | undefined {
  const words = messageWords(text)
  for (const [at, word] of words.entries()) {
    const path = dottedPath(word.text) ?? pathOfFile(word.text)
    if (path === undefined || sent.includes(baseName(path))) continue
    if (/[\\/]/.test(path) || isSaidMade(words, at)) return path
  }
  return undefined
}

/** `./out/report.csv`, `..\out`: nothing else is written like that. */
function dottedPath(word: string): string | undefined {
  return /^\.{1,2}[\\/]/.test(word) && /[\p{L}\p{N}_+-]/u.test(word) ? word.replace(/[.:?]{1,8}$/, '') : undefined
}

/** `report.pdf` or `outputs/q3/report.pdf`, which ends as files do. */
function pathOfFile(word: string): string | undefined {
  const [path = ''] = /^[\p{L}\p{N}_][\p{L}\p{N}_.+\\/-]*/u.exec(word) ?? []
  const named = path.replace(/[.+]{1,8}$/, '')
  const isOfAddress = word[path.length] === '@' || isHost(named)
  return !isOfAddress && ENDINGS.has(endingOf(named)) ? named : undefined
}

/** The first folder has no dot, as a host has. */
function isHost(path: string): boolean {
  const first = path.search(/[\\/]/)
  return first >= 0 && path.slice(0, first).includes('.')
}

function endingOf(path: string): string {
  const end = path.slice(-LONGEST_ENDING - 1)
  const dot = end.lastIndexOf('.')
  return dot < 0 ? '' : end.slice(dot + 1).toLowerCase()
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}

/** What is said of a file that was just made. */
const MADE = new Set(
  'saved wrote written created generated exported stored placed produced rendered compiled downloaded'.split(' '),
)
/** It is so where it is said to be in, at or under something. */
const BE = new Set(['is', 'are', 'be'])
const WHERE = new Set(['in', 'at', 'under'])
/** A file that the reader sent is one that the reader has. */
const HAD = new Set('read open opened got received parsed checked reviewed loaded in from of your'.split(' '))
const ARTICLES = new Set(['the', 'your', 'a'])
const OTHERS = new Set(['you', 'they', 'he', 'she'])

/** So many words may stand between what is said and the name: "saved the whole summary as". */
const MOST_BETWEEN = 6
/** What words are made of that a sentence goes on with. */
const PLAIN = /^[\p{L}\p{N}_-]{1,30}:?$/u
const BETWEEN = new Set(` ,"'’\`*()[]`)
const QUOTES = new Set(`"'\`*)`)

/** Whether the text says that its author made the file with the name at this place. */
function isSaidMade(words: readonly MessageWord[], at: number): boolean {
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

/** A piece of a message with nothing of a word, a path or an address beside it. */
interface MessageWord {
  readonly text: string
  /** What stands between the word before and this one, cut short where it is long. */
  readonly gap: string
}

/** Of everything that goes on where one of these stands, a name behind it is a part: of an address, of a longer name, of a setting. */
const PIECE = /[\p{L}\p{N}_.@+/~\\%:=?&#$-]+/gu

/** Longer than what stands between two words that belong together. */
const LONGEST_GAP = 8

/** The words of a text, cut in one pass. */
function messageWords(text: string): readonly MessageWord[] {
  const words: MessageWord[] = []
  let end = 0
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    words.push({ text: piece, gap: text.slice(end, Math.min(index, end + LONGEST_GAP)) })
    end = index + piece.length
  }
  return words
}
