export { fewOfEach, fileOf, KNOWLEDGE_SOURCE, writtenProblems } from './check.ts'
export { createDocs, type Docs, MOST_PAGES, searchDocument, usualDepth } from './docs.ts'
export {
  createSkill,
  type Directions,
  isDirections,
  type Skill,
  seesUnit,
  toolAt,
  type UnitReader,
  unitEntry,
} from './entry.ts'
export { INCLUDE_LIMITS, unitsIn, withIncludes } from './includes.ts'
export { agentReader, ownerReader, type Readable, type Reader, toolState } from './library.ts'
export { MOST_PAGE_CHARACTERS, toolPage } from './page.ts'
export { schemaTable } from './schema-table.ts'
