/** Where a private key begins and ends, as PEM, PGP and SSH2 write it. */
const HEAD = /-{4,5} ?BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g
const TAIL = /-{4,5} ?END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g
/** No private key is longer. What stands further away belongs to something else. */
const LONGEST = 65_536

/** From where to where the private keys of a text reach. */
export function keyBlocksIn(text: string): { readonly from: number; readonly to: number }[] {
  const tails = [...text.matchAll(TAIL)].map(found => ({ from: found.index, to: found.index + found[0].length }))
  const heads = [...text.matchAll(HEAD)].map(found => ({ from: found.index, to: found.index + found[0].length }))
  let next = 0
  return heads.flatMap(({ from, to }, i) => {
    while ((tails[next]?.from ?? Number.POSITIVE_INFINITY) < to) next++
    const tail = tails[next]
    const limit = Math.min(heads[i + 1]?.from ?? text.length, to + LONGEST)
    const end = tail && tail.from <= limit ? tail.to : endOfPieces(text, to, limit)
    return end === to ? [] : [{ from, to: end }]
  })
}

const GAP = /(?:[\s>|"'`+,]|\\[nrt]){0,64}/y
const HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Subject|Hash|Charset): [^\n]{0,256}/y
const PIECE = /[A-Za-z0-9+/=]+/y
/** The end of a text that was cut in the middle of the last line. */
const CUT = /\s{0,4}-{1,5} ?[A-Z0-9 -]{0,64}$/y

/** A line of a key is long and no word. Only the last one is shorter. */
const LONG = 16
const A_WORD = /^[A-Z]?[a-z]+$|^[A-Z]+$/

/** How far a key reaches that has no end: as long as there are lines of one. What was said after it stays. */
function endOfPieces(text: string, start: number, limit: number): number {
  let end = start
  for (;;) {
    const at = after(GAP, text, end)
    const header = after(HEADER, text, at)
    const to = header > at ? header : after(PIECE, text, at)
    if (to === at || to > limit) break
    const piece = text.slice(at, to)
    if (header === at && A_WORD.test(piece)) break
    const isLast = header === at && piece.length < LONG
    // Right behind the head a short piece is a word of a sentence about keys.
    if (isLast && end === start && at > start) break
    end = to
    if (isLast) break
  }
  const cut = after(CUT, text, end)
  return end > start || cut === text.length ? cut : start
}

function after(form: RegExp, text: string, at: number): number {
  form.lastIndex = at
  return form.test(text) ? form.lastIndex : at
}
