import { isSaidMade } from './made-file.ts'
import { messageWords } from './message-words.ts'

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
