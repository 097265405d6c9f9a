/** In characters. About 32,000 tokens, twice in an answer that has everything as text and as data. */
export const MOST_ON_A_PAGE = 128 * 1_024

/** As many of these, from the first on, as one answer has room for. One is always in it, whatever its size. */
export function fittingOnePage<T extends { readonly content: string }>(rows: readonly T[]): T[] {
  let size = 0
  const end = rows.findIndex(({ content }, i) => {
    size += content.length
    return i > 0 && size > MOST_ON_A_PAGE
  })
  return rows.slice(0, end === -1 ? rows.length : end)
}
