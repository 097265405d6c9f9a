/** A text may be one long path; this much identifies it. */
const SHOWN = 200

/** Only the beginning of a message is searched, because the search blocks the event loop. */
const SEARCHED_CHARACTERS = 65_536

/** The first link or path in a text that the reader cannot open. Names of files `sent` with the text are allowed. */
export function fileNamedIn(text: string, sent: readonly string[] = []): string | undefined {
  const start = text.slice(0, SEARCHED_CHARACTERS)
  const found = NAMED.exec(start)?.[0] ?? relativeFileIn(start, sent)
  return found?.slice(0, SHOWN).replace(/[.,;:!?]+$/, '')
}

/** Upload services that agents use. Their links expire after days, and many networks block them. */
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

/** Top folders of machines and containers. Other text that begins with "/" may be the path of a URL. */
const TOP_FOLDERS =
  'Users|Volumes|app|data|home|media|mnt|opt|private|root|run|srv|tmp|usr|var|workdir|workspace|workspaces'

const REST = '[^\\s"\'`<>()\\[\\]{}|]'
const UPLOADED = UPLOAD_HOSTS.map(host => host.replaceAll('.', String.raw`\.`)).join('|')

const LOCAL_HOSTS = String.raw`localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\]`
const OWN_FILES = String.raw`api\/v1\/attachments\/`

/** A path does not begin inside a URL or a word with a slash. */
const BEFORE = String.raw`(?<![\w/.~\\@+%-])`
/** Characters of folder names, where only the extension distinguishes a path from a URL. */
const NAME = String.raw`[\p{L}\p{N}_.@+-]`
// No character of a name before the path: otherwise every slash would be a possible start, and a message of a megabyte
// would block the process for minutes.
const BEFORE_NAMES = String.raw`(?<![\p{L}\p{N}_.@+/~\\%-])`

const NAMED = new RegExp(
  [
    String.raw`\b(?:file|sandbox):\/${REST}*`,
    String.raw`\bhttps?:\/\/(?:[\w-]+\.)*(?:${UPLOADED})(?![\w.-])${REST}*`,
    // Readers are on other machines. Addresses of local pages are allowed, addresses of local files are not.
    String.raw`(?<!${REST})https?:\/\/(?:${LOCAL_HOSTS})(?::\d+)?\/(?:${OWN_FILES}${REST}+|${REST}*\.[A-Za-z]\w{0,7}(?![\w/]))`,
    String.raw`${BEFORE}\/(?:${TOP_FOLDERS})\/${REST}+`,
    // With a file extension, in any folder.
    String.raw`${BEFORE_NAMES}(?:\/${NAME}+)+\/[\p{L}\p{N}_@+-]${NAME}*\.[A-Za-z]\w{0,7}\b`,
    String.raw`${BEFORE}(?:~|\$\w+)\/${REST}+`,
    String.raw`${BEFORE}(?:[A-Za-z]:[\\/]|\\\\[\w.?-]+\\|%\w+%\\)${REST}+`,
  ].join('|'),
  'iu',
)

/** Extensions of files for people. Those of source code are left out: "React/Vue.js" is no file. */
const ENDINGS = new Set(
  (
    'csv tsv doc docx xls xlsx ppt pptx odt ods odp pdf rtf txt md log json jsonl yaml yml xml htm html zip tar gz tgz 7z ' +
    'png jpg jpeg gif webp svg bmp tif tiff mp3 mp4 wav webm mov parquet sqlite db ipynb epub ics'
  ).split(' '),
)
const LONGEST_ENDING = 7

/** The first relative path, or name of a file that the author made, which is not among the sent files. */
export function relativeFileIn(text: string, sent: readonly string[]): string | undefined {
  const words = messageWords(text)
  for (const [at, word] of words.entries()) {
    const path = dottedPath(word.text) ?? pathOfFile(word.text)
    if (path === undefined || sent.includes(baseName(path))) continue
    if (/[\\/]/.test(path) || isMadeByAuthor(words, at)) return path
  }
  return undefined
}

/** `./out/report.csv`, `..\out`. */
function dottedPath(word: string): string | undefined {
  return /^\.{1,2}[\\/]/.test(word) && /[\p{L}\p{N}_+-]/u.test(word) ? word.replace(/[.:?]{1,8}$/, '') : undefined
}

/** `report.pdf`, `outputs/q3/report.pdf`. */
function pathOfFile(word: string): string | undefined {
  const [path = ''] = /^[\p{L}\p{N}_][\p{L}\p{N}_.+\\/-]*/u.exec(word) ?? []
  const named = path.replace(/[.+]{1,8}$/, '')
  const isOfAddress = word[path.length] === '@' || isHost(named)
  return !isOfAddress && ENDINGS.has(endingOf(named)) ? named : undefined
}

/** A dot in the first part means a host name. */
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

/** Words for making a file. */
const MADE_WORDS = new Set(
  'saved wrote written created generated exported stored placed produced rendered compiled downloaded'.split(' '),
)
/** Before words for places: "the file is in …". */
const BE = new Set(['is', 'are', 'be'])
const PLACE_WORDS = new Set(['in', 'at', 'under'])
/** Words before a file that the author received from the reader. */
const RECEIVED_WORDS = new Set(
  'read open opened got received parsed checked reviewed loaded in from of your'.split(' '),
)
const ARTICLES = new Set(['the', 'your', 'a'])
const OTHERS = new Set(['you', 'they', 'he', 'she'])

/** The most words between the verb and the name: "saved the whole summary as". */
const MOST_BETWEEN = 6
/** A word inside a sentence. */
const PLAIN = /^[\p{L}\p{N}_-]{1,30}:?$/u
const GAP_CHARACTERS = new Set(` ,"'’\`*()[]`)
const QUOTES = new Set(`"'\`*)`)

/** Whether the text says that its author made the file named at this position. */
function isMadeByAuthor(words: readonly MessageWord[], at: number): boolean {
  return isAnnouncedReady(words, at) || (hasMadeWordBefore(words, at) && !isFromReader(words, at))
}

function hasMadeWordBefore(words: readonly MessageWord[], at: number): boolean {
  for (let i = at - 1; i >= 0 && i >= at - 1 - MOST_BETWEEN; i--) {
    if (!isSameSentence(words, i) || !PLAIN.test(textAt(words, i))) return false
    if (isMadeWord(words, i)) return true
  }
  return false
}

/** Whether this word and the next are in one sentence. After a colon, a name may be on the next line. */
function isSameSentence(words: readonly MessageWord[], at: number): boolean {
  const gap = words[at + 1]?.gap ?? ''
  const rest = textAt(words, at).endsWith(':') ? gap.replace('\n', '') : gap
  return [...rest].every(character => GAP_CHARACTERS.has(character))
}

function isMadeWord(words: readonly MessageWord[], at: number): boolean {
  const word = wordAt(words, at)
  if (MADE_WORDS.has(word)) return true
  if (PLACE_WORDS.has(word)) return BE.has(wordAt(words, wordAt(words, at - 1) === 'now' ? at - 2 : at - 1))
  return word === 'file' && !RECEIVED_WORDS.has(wordAt(words, at - 1)) && !isReceivedFile(words, at)
}

/** "I read the file". */
function isReceivedFile(words: readonly MessageWord[], at: number): boolean {
  return ARTICLES.has(wordAt(words, at - 1)) && RECEIVED_WORDS.has(wordAt(words, at - 2))
}

/** "report.pdf is now ready". */
function isAnnouncedReady(words: readonly MessageWord[], at: number): boolean {
  if (!hasNextWord(words, at) || !['is', 'are'].includes(wordAt(words, at + 1))) return false
  return /^ready\b/i.test(textAt(words, wordAt(words, at + 2) === 'now' ? at + 3 : at + 2))
}

/** "data.csv that you sent". */
function isFromReader(words: readonly MessageWord[], at: number): boolean {
  if (!hasNextWord(words, at)) return false
  return OTHERS.has(wordAt(words, ['that', 'which'].includes(wordAt(words, at + 1)) ? at + 2 : at + 1))
}

/** Whether the next word follows directly, with only quotes between. */
function hasNextWord(words: readonly MessageWord[], at: number): boolean {
  const gap = words[at + 1]?.gap ?? ''
  return gap.endsWith(' ') && !textAt(words, at).endsWith('.') && [...gap.slice(0, -1)].every(each => QUOTES.has(each))
}

function textAt(words: readonly MessageWord[], at: number): string {
  return words[at]?.text ?? ''
}

/** Longer words match no list. */
const LONGEST_WORD = 30

function wordAt(words: readonly MessageWord[], at: number): string {
  const text = textAt(words, at)
  return text.length > LONGEST_WORD ? '' : text.replace(/:$/, '').toLowerCase()
}

/** A word, path or address in a message. */
interface MessageWord {
  readonly text: string
  /** The text between the word before and this one, cut. */
  readonly gap: string
}

/** Characters of words, including those that join a name to an address, a longer name or a setting. */
const PIECE = /[\p{L}\p{N}_.@+/~\\%:=?&#$-]+/gu

/** Longer than any gap inside a sentence. */
const LONGEST_GAP = 8

function messageWords(text: string): readonly MessageWord[] {
  const words: MessageWord[] = []
  let end = 0
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    words.push({ text: piece, gap: text.slice(end, Math.min(index, end + LONGEST_GAP)) })
    end = index + piece.length
  }
  return words
}
