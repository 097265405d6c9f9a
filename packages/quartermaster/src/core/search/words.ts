/**
 * The words of a text in lower case, without accents. Identifiers are split at `_`, `-`, `.`, camel case and digits, and are also
 * words as a whole, so that "GitHub" is found by "github" and by "hub".
 */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const run of withoutAccents(text).match(RUN) ?? []) {
    // Scripts without spaces have no words to split at, so pairs of characters are used.
    if (UNSPACED.test(run)) words.push(...pairsOf(run))
    else words.push(...partsOf(run))
  }
  return words
}

/** The name as words with single spaces: equal for `read_file`, `readFile`, `Read-File` and `read file`. */
export const spokenName = (name: string): string => withoutAccents(name).match(PART)?.join(' ').toLowerCase() ?? ''

/** Letters of scripts that are written without spaces between words. */
const UNSPACED_LETTER = String.raw`(?=[\p{L}\p{N}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]`
/**
 * A word ends where such a script meets another one: "iPhoneを" has two. Vowels that are spacing marks, as in the scripts of India,
 * belong to the word.
 */
const RUN = new RegExp(String.raw`(?:${UNSPACED_LETTER})+|(?:(?!${UNSPACED_LETTER})[\p{L}\p{N}\p{Mc}])+`, 'gu')
const UNSPACED = new RegExp(UNSPACED_LETTER, 'u')
/** `HTTPServer2` is HTTP, Server and 2. */
const PART = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lm}\p{Lo}]+|\p{Lu}|\p{N}+/gu
const MIXED = /.\p{Lu}|\p{N}/u
/** `PDF` and `PDFs`. */
const ACRONYM = /^\p{Lu}+s?$/u

function withoutAccents(text: string): string {
  const plain = text.replace(/['’](s\b)?/g, '')
  if (/^[\x20-\x7e\s]*$/.test(plain)) return plain
  return plain
    .normalize('NFKD')
    .replace(/\p{Mn}+/gu, '')
    .normalize('NFC')
}

function partsOf(run: string): string[] {
  const whole = run.toLowerCase()
  if (!MIXED.test(run) || ACRONYM.test(run)) return [whole]
  const parts = run.match(PART) ?? []
  return parts.length > 1 ? [...parts.map(part => part.toLowerCase()), whole] : [whole]
}

/** The single characters of scripts without spaces: a query can be one of them. */
export function charactersOf(text: string): string[] {
  return (withoutAccents(text).match(RUN) ?? [])
    .filter(run => run.length > 1 && UNSPACED.test(run))
    .flatMap(run => [...run.toLowerCase()])
}

function pairsOf(run: string): string[] {
  const characters = [...run.toLowerCase()]
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}

/** Whether a query has nothing to search for, such as punctuation alone. */
export function isWordless(query: string): boolean {
  return !/[\p{L}\p{N}]/u.test(query)
}

const listOf = (text: string) => text.trim().split(/\s+/)

/** English function words, words of polite requests, and "tool". */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  listOf(`
  a about above after again all also am an and any are as at be because been before being below between both but by can
  cant could did didnt do does doesnt doing done dont down during each eg etc few for from further had has have having he
  hence her here hers him his how however i id ie if ill im in into is isnt it its ive just lets like may maybe me might
  more most must my no nor not now of off on once only or other our out over own per perhaps please shall she should so
  some such than that thats the their them then there these they this those through thus to too under until up upon us
  use used using very via was we were what whats when where whether which while who whom whose why will with would you
  your youre yours
  able additionally assist assistance finally first firstly furthermore hello help hey hi kindly lastly let looking lot
  moreover need needs next okay really secondly sure tell thank thanks know tool tools want wants
  way wish
`),
)

/** Words of praise. They do not count, so that writing them gains nothing. */
export const PRAISE: ReadonlySet<string> = new Set(
  listOf(`
  amazing awesome beautiful best brilliant effortless effortlessly excellent exceptional extraordinary fabulous fantastic
  finest flawless greatest incredible incredibly magical outstanding perfect perfectly phenomenal powerful premier
  remarkable revolutionary seamless seamlessly stunning superb superior terrific ultimate unbeatable unmatched
  unparalleled unrivaled wonderful
`),
)

/** Words that are rare in descriptions and common in queries: their rarity must not give them weight. */
export const CHATTER: ReadonlySet<string> = new Set(
  listOf(`
  always anyone anything bit come coming curious eager enjoy even ever everything feel give given giving go going good
  great greetings happen happening hope interested keep kind look love many much never nice quite say see seem show
  someone something sort still stuff suggest take thing things think tired today tomorrow tonight try trying urgent
  urgently wonder wondering yesterday
  am pm st nd rd th january february march april june july august september october november december monday tuesday
  wednesday thursday friday saturday sunday
`),
)

/** Irregular forms and their words. */
export const IRREGULAR: ReadonlyMap<string, string> = new Map(
  listOf(`
  ate:eat became:become began:begin begun:begin bitten:bite blew:blow blown:blow bought:buy broke:break broken:break
  brought:bring built:build came:come caught:catch children:child chose:choose chosen:choose daily:day dealt:deal
  drank:drink drawn:draw dreamt:dream drew:draw driven:drive drove:drive dug:dig eaten:eat fallen:fall fed:feed
  feet:foot fell:fall felt:feel fled:flee flew:fly flown:fly forgave:forgive forgiven:forgive forgot:forget
  forgotten:forget fought:fight found:find froze:freeze frozen:freeze gave:give given:give gone:go grew:grow
  grown:grow heard:hear held:hold hid:hide hidden:hide hung:hang indices:index kept:keep knew:know known:know laid:lay
  learnt:learn led:lead lent:lend lit:light lives:life lost:lose made:make matrices:matrix meant:mean men:man met:meet
  mice:mouse paid:pay people:person ran:run rang:ring ridden:ride rode:ride said:say sang:sing sank:sink sat:sit
  seen:see sent:send shaken:shake shook:shake shot:shoot shown:show slept:sleep sold:sell sought:seek spelt:spell
  spent:spend spoke:speak spoken:speak stole:steal stolen:steal stood:stand struck:strike stuck:stick sung:sing
  swam:swim swept:sweep swore:swear sworn:swear swum:swim taken:take taught:teach teeth:tooth thought:think
  threw:throw thrown:throw told:tell took:take tore:tear torn:tear understood:understand vertices:vertex went:go
  wept:weep wives:wife woke:wake woken:wake women:woman won:win wore:wear worn:wear written:write wrote:write
`).map(pair => pair.split(':') as [string, string]),
)
