/** Letters that look like Latin ones, as pairs. Upper case first where its shape is that of another letter. */
const PAIRS =
  'ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧx' +
  'αaεeηnιiκkνvοoρpτtυuχxωwγyσo' +
  'аaвbгrеeиuкkмmнhоoпnрpсcтtуyхxьbіiїiјjѕsԁdһhӏlԛqԝwґrєeўyёe' +
  'օoսuհhոnցgզqւlյjաw' +
  'ıiɡgɑaɩiʋvƽsɪiʀrɴnʟlᴏoᴜuᴇeᴀaꜱsᴛtᴅdᴄcᴍmᴘpɢgʏyʙbʜhᴊjᴋkᴠvᴡwᴢz'

const LATIN: ReadonlyMap<string, string> = new Map(
  Array.from({ length: [...PAIRS].length / 2 }, (_, i) => [[...PAIRS][2 * i] ?? '', [...PAIRS][2 * i + 1] ?? '']),
)

/** The Latin letter that this one looks like, if any. */
export function latinFor(character: string): string | undefined {
  return LATIN.get(character) ?? LATIN.get(character.toLowerCase())
}

const FOREIGN = /[\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Cherokee}]/u
const WORDS = /[\p{L}\p{M}\p{Nd}_]{3,}/gu

/**
 * The first word that mixes Latin letters with others that look like them. Units and formulas mix as well, so a word needs
 * some letters, and Greek ones only count where no formula has them.
 */
export function mixedWord(text: string): string | undefined {
  if (!FOREIGN.test(text)) return undefined
  for (const [word] of text.matchAll(WORDS)) if (isMixed(word)) return word
  return undefined
}

const LATIN_LETTER = /\p{Script=Latin}/u
const FORMULA = /[εηωγσΔΩμπλθφ]/u

function isMixed(word: string): boolean {
  if (!FOREIGN.test(word) || !LATIN_LETTER.test(word)) return false
  const letters = [...word].filter(letter => /\p{L}/u.test(letter))
  const latin = letters.filter(letter => LATIN_LETTER.test(letter)).length
  const foreign = letters.filter(letter => FOREIGN.test(letter))
  if (letters.length < 4 || latin === 0 || foreign.length === 0) return false
  return foreign.every(letter => latinFor(letter) !== undefined && !FORMULA.test(letter))
}

/** Pairs and digits that look like letters at a glance. */
const GLANCE: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/cl/g, 'd'],
  [/[1|]/g, 'l'],
  [/i/g, 'l'],
  [/0/g, 'o'],
  [/5/g, 's'],
]

/** A name with look-alikes replaced by one of them, without case and separators. Names with equal skeletons look alike. */
export function skeletonOf(name: string): string {
  return GLANCE.reduce((skeleton, [pattern, letter]) => skeleton.replace(pattern, letter), comparableName(name))
}

/** A name without case, separators and foreign letters. */
export function comparableName(name: string): string {
  // Nearly all names, and normalising a long one takes time.
  if (ASCII.test(name)) return name.toLowerCase().replace(/[^a-z0-9]+/g, '')
  const folded = [...name.normalize('NFKD')].map(character => latinFor(character) ?? character).join('')
  return folded.toLowerCase().replace(/[^\p{L}\p{Nd}]/gu, '')
}

const ASCII = /^\p{ASCII}*$/u
