/** The links and paths in a text that stand for a file which nobody else can open, in the order in which they stand there. */
export function filesNamedIn(text: string): string[] {
  return [...text.matchAll(NAMED)].map(([found]) => found.replace(/[.,;:!?]+$/, ''))
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

/** What stands before a path: not the rest of an address, and not a word with a slash in it. */
const BEFORE = String.raw`(?<![\w:/.~\\-])`
const REST = String.raw`[^\s"'\`<>()\[\]{}|]`

const UPLOADED = UPLOAD_HOSTS.map(host => host.replaceAll('.', String.raw`\.`)).join('|')

const NAMED = new RegExp(
  [
    String.raw`\bfile:\/\/${REST}*`,
    String.raw`\bhttps?:\/\/(?:[\w-]+\.)*(?:${UPLOADED})(?![\w.-])${REST}*`,
    String.raw`${BEFORE}\/(?:${TOPS})\/${REST}+`,
    // With the ending of a file it is one, whatever folder it begins with.
    String.raw`${BEFORE}(?:\/[\w.@+-]+)+\/[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}\b`,
    String.raw`${BEFORE}~\/${REST}+`,
    String.raw`(?<!\w)[A-Za-z]:\\${REST}+`,
  ].join('|'),
  'gi',
)
