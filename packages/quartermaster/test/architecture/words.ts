/** Words that say nothing to a reader who does not know this project, in the singular. They stand nowhere in what is ours. */
const NOWHERE = withPlurals([
  ...[
    'whoever',
    'nobody',
    'somebody',
    'anybody',
    'anew',
    'mend',
    'mended',
    'mending',
    'desk',
    'shelf',
    'seat',
    'guest',
  ],
  ...['journey', 'courier', 'acquaintance', 'sighting', 'herd', 'passage'],
])

/** Words that may stand in a sentence, and are no name of a file or of an export. */
const NO_NAME = withPlurals([
  ...[
    'way',
    'verdict',
    'visit',
    'visitor',
    'letter',
    'voice',
    'hearing',
    'meeting',
    'crowd',
    'lane',
    'standing',
    'room',
  ],
  ...['matter', 'life'],
]).add('counts')

/** Where a word of the first list has to stay: what was stored under it, and names of the first documents. */
export interface WordException {
  readonly text: RegExp
  readonly reason: string
}

export const EXCEPTIONS: readonly WordException[] = [
  { text: /\{ mend: 'fix' \}/g, reason: 'the former name of a field, which its error names' },
  { text: /\bshelf: (?:scopeKey|\{ in: scopes)|\.shelf\b/g, reason: 'the column of memories with their scope' },
  {
    text: /["']shelf["']|\bshelf: (?:'text'|z\.string)|memories_by_shelf|by their shelf/g,
    reason: 'a column of memories, its index and migration',
  },
  {
    text: /'seats'|\bseats: FolderAgentRow|seats_by_name|who seats an agent|`seats \$\{|\.next\('seat'\)|no index that nobody reads/g,
    reason: 'a table, its index and migrations',
  },
]

/** How often a text has words of the first list, in names of any style as well. */
export function forbiddenWordsIn(text: string, exceptions = EXCEPTIONS): string[] {
  const own = exceptions.reduce((rest, exception) => rest.replace(exception.text, ' '), text)
  const standIns = own.match(/\bstand-?ins?\b/gi) ?? []
  return [...wordsIn(own).filter(word => NOWHERE.has(word)), ...standIns.map(word => word.toLowerCase())]
}

/** Words of the second list in the name of a file or of an export. */
export function discouragedWordsIn(name: string): string[] {
  // The field's own name for what stands at the top of a Markdown file.
  return wordsIn(name.replace(/front-?matter/gi, '')).filter(word => NO_NAME.has(word))
}

/** `standingRoom`, `standing-room`, `STANDING_ROOM` and `Standing room` have the same words. */
function wordsIn(text: string): string[] {
  const apart = text.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
  return (apart.match(/[A-Za-z]+/g) ?? []).map(word => word.toLowerCase())
}

function withPlurals(words: readonly string[]): Set<string> {
  return new Set(words.flatMap(word => [word, `${word}s`, word.replace(/(?:f|fe)$/, 'ves')]))
}
