export type { SearchDocument } from './fields.ts'
export {
  createSearchIndex,
  type SearchEntry,
  type SearchHit,
  type SearchIndex,
  type SearchOptions,
} from './search-index.ts'
