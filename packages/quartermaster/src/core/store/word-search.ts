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
  /** How many rows with it are looked at; the newest. */
  readonly most: number
}

/** Finds rows by their words. A word is only ever a word: nothing in it is syntax. */
export interface WordSearch {
  /** How many rows have this word; `most` when there are more. */
  count(word: string, scope: WordScope & { readonly most: number }): Promise<number>
  /** For each of these words the slots of the newest rows that have it, the newest first. */
  newest(words: readonly WantedWord[], scope: WordScope): Promise<readonly (readonly number[])[]>
}
