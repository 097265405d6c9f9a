export { createKnowledgeSource, type KnowledgeSource, type KnowledgeSourceOptions } from './knowledge-source.ts'
export { createPackedSource, packKnowledge } from './packed-source.ts'
export { plannedUnit } from './planned-unit.ts'
export { compareUnits, type UnitFile, type UnitOutcome, writeUnits } from './write-units.ts'
