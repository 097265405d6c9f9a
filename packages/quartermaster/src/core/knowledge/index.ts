export { createDocIndex, type DocIndex, searchDocument } from './doc-index.ts'
export { createDocs, type Docs, MOST_PAGES, usualDepth } from './docs.ts'
export {
  fewOfEach,
  fileOf,
  KNOWLEDGE_SOURCE,
  seesUnit,
  toolAt,
  type UnitReader,
  unitEntry,
  writtenProblems,
} from './entry.ts'
export {
  agentReader,
  INCLUDE_LIMITS,
  type Includable,
  ownerReader,
  type Readable,
  type Reader,
  toolState,
  unitsIn,
  withIncludes,
} from './library.ts'
export { MOST_PAGE_CHARACTERS, toolPage } from './page.ts'
export { schemaTable } from './schema-table.ts'
export { createSkill, type Directions, isDirections, type Skill } from './skill.ts'
