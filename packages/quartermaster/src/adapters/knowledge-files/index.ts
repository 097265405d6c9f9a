export { createKnowledgeSource, type KnowledgeSource, type KnowledgeSourceOptions } from './knowledge-source.ts'
