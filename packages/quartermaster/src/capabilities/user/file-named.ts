import { relativeFileIn } from './relative-file.ts'

/** As much of it as tells which one it is: a text may be one long path. */
const SHOWN = 200

/** As much of a text is looked at. A message this long that names files does so before, and everybody waits while it is read. */
const LOOKED_AT = 65_536

/**
 * The first link or path in a text that stands for a file which nobody else can open; the names of those `sent` with it may stand
 * there.
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
    // Nobody else has this machine. The address of a page may stand there; that of a file is for `attachments`.
    String.raw`(?<!${REST})https?:\/\/(?:${HERE})(?::\d+)?\/(?:${OWN_FILES}${REST}+|${REST}*\.[A-Za-z]\w{0,7}(?![\w/]))`,
    String.raw`${BEFORE}\/(?:${TOPS})\/${REST}+`,
    // With the ending of a file it is one, whatever folder it begins with.
    String.raw`${BEFORE_NAMES}(?:\/${NAME}+)+\/[\p{L}\p{N}_@+-]${NAME}*\.[A-Za-z]\w{0,7}\b`,
    String.raw`${BEFORE}(?:~|\$\w+)\/${REST}+`,
    String.raw`${BEFORE}(?:[A-Za-z]:[\\/]|\\\\[\w.?-]+\\|%\w+%\\)${REST}+`,
  ].join('|'),
  'iu',
)
