/** What people are given. The ending of a program's text is none of them: "React/Vue.js" is no file. */
const ENDINGS =
  'csv|tsv|docx?|xlsx?|pptx?|od[tsp]|pdf|rtf|txt|md|log|json|jsonl|ya?ml|xml|html?|zip|tar|t?gz|7z|png|jpe?g|gif|webp|svg|bmp|tiff?|mp[34]|wav|webm|mov|parquet|sqlite|db|ipynb|epub|ics'

const LETTER = String.raw`[\p{L}\p{N}_]`
const NAME = String.raw`[\p{L}\p{N}_+-]`
const ENDED = String.raw`\.(?:${ENDINGS})(?![\p{L}\p{N}_/@-]|\.[\p{L}\p{N}])`
/** No part of an address or of a longer name. */
const BEFORE = String.raw`(?<![\p{L}\p{N}_.@+/~\\%:=?&#$-])`

/** What is said of a file that was just made. */
const MADE =
  'saved|wrote|written|created|generated|exported|stored|placed|produced|rendered|compiled|downloaded|(?:is|are|be) (?:now )?(?:in|at|under)'
/** A file that somebody has sent us is one that they have. */
const A_FILE = String.raw`(?<!\b(?:read|open|opened|got|received|parsed|checked|reviewed|loaded|in|from|of|your) (?:the |your |a )?)file`
const WORDS_BETWEEN = String.raw`(?:[ ,:]{1,2}["'\x60*(]{0,2}[\p{L}\p{N}_'’-]{1,30}["'\x60*)]{0,2}){0,6}?[ ,:]{1,2}\n?["'\x60*(\[]{0,3}`
const FILE_NAME = String.raw`(?<bare>${BEFORE}${LETTER}[\p{L}\p{N}_.+-]{0,120}?${ENDED})`
const NOT_YOURS = String.raw`(?![\x60"'*)]{0,2} (?:that |which )?(?:you|they|he|she) )`

const RELATIVE = new RegExp(
  [
    // `./out/report.csv`, `..\out`: nothing else is written like that.
    String.raw`${BEFORE}\.{1,2}[\\/](?=[^\s"'\x60<>()\[\]{}|]{0,200}${NAME})[^\s"'\x60<>()\[\]{}|]{1,1000}`,
    // `outputs/q3/report.pdf`. The first folder has no dot, as a host has.
    String.raw`${BEFORE}${LETTER}${NAME}{0,100}[\\/](?:[\p{L}\p{N}_.+-]{1,100}[\\/]){0,20}[\p{L}\p{N}_.+-]{0,120}?${ENDED}`,
    // A name alone is one where it is said to be.
    String.raw`\b(?:${MADE}|${A_FILE})\b${WORDS_BETWEEN}${FILE_NAME}${NOT_YOURS}`,
    String.raw`(?<ready>${BEFORE}${LETTER}[\p{L}\p{N}_.+-]{0,120}?${ENDED})["'\x60*]{0,2} (?:is|are) (?:now )?ready\b`,
  ].join('|'),
  'giu',
)

/** Most messages have neither, and to look for these is ten times as quick. */
const HINT = new RegExp(String.raw`\.(?:[\\/]|(?:${ENDINGS})(?!\w))`, 'i')

/** The first path below a folder that only the agent has, or name of a file it made, which is not among those it sends. */
export function relativeFileIn(text: string, sent: readonly string[]): string | undefined {
  if (!HINT.test(text)) return undefined
  for (const found of text.matchAll(RELATIVE)) {
    const named = (found.groups?.['bare'] ?? found.groups?.['ready'] ?? found[0]).replace(/[.,;:!?]{1,8}$/, '')
    if (!sent.includes(baseName(named))) return named
  }
  return undefined
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path
}
