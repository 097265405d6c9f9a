export { maxScores, type RankedWord, rarity, scoreTerms, type TermScores, type WordFacts } from './bm25.ts'
export type { SearchDocument } from './fields.ts'
export {
  createSearchIndex,
  type SearchEntry,
  type SearchHit,
  type SearchIndex,
  type SearchOptions,
} from './search-index.ts'
export { stem } from './stem.ts'
export { createSynonymTable, SYNONYMS } from './synonyms.ts'
export { createTermReader, type TermReader, toTerm, type WeightedTerm } from './terms.ts'
export { charactersOf, isWordless } from './words.ts'
