export {
  createKnowledgeSource,
  createPackedSource,
  type KnowledgeSource,
  type KnowledgeSourceOptions,
  packKnowledge,
} from './knowledge-source.ts'
export { compareUnits, plannedUnit, type UnitFile, type UnitOutcome, writeUnits } from './write-units.ts'
