import type { MemoryRow } from '../contracts/index.ts'
import type { WordScope, WordSearch } from '../core/store/index.ts'

/** Finds memories of a test by looking at all of them. */
export function createWordSearch(rows: () => readonly MemoryRow[]): WordSearch {
  const having = (word: string, { scopes, upTo, above = 0 }: WordScope) =>
    rows()
      .filter(({ shelf, slot }) => scopes.includes(shelf) && slot <= upTo && slot > above)
      .filter(row => row.words.split(' ').includes(word))
      .toSorted((a, b) => b.slot - a.slot)
  return {
    count: async (word, scope) => Math.min(scope.most, having(word, scope).length),
    newest: async (words, scope) =>
      words.map(({ word, most }) =>
        having(word, scope)
          .slice(0, most)
          .map(({ slot }) => slot),
      ),
  }
}
