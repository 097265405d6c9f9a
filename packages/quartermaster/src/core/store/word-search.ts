/** Which memories may be found: those on these shelves, as far as they were there. */
export interface WordScope {
  readonly shelves: readonly string[]
  /** Up to this slot; what was added later is not there. */
  readonly upTo: number
  /** Only behind this slot. */
  readonly above?: number | undefined
}

/** A word that is looked for, as the words of a row are written. */
export interface WantedWord {
  readonly word: string
  /** How much it says for a row that it is there. */
  readonly weight: number
  /** How many rows with it are looked at; the newest. */
  readonly most: number
}

/** Finds rows by their words. A word is only ever a word: nothing in it is syntax. */
export interface WordSearch {
  /** How many rows have this word; `most` when there are more. */
  count(word: string, scope: WordScope & { readonly most: number }): Promise<number>
  /** The slots of the rows for which the words say most together; of equal ones the newest. */
  find(words: readonly WantedWord[], scope: WordScope & { readonly limit: number }): Promise<readonly number[]>
}
