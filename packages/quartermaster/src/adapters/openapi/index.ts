export { type ApiDocument, DOCUMENT_BYTES, parseApiDocument } from './api-document.ts'
export {
  type DeclarationOptions,
  type MadeDeclaration,
  type MappingOptions,
  obstacleTo,
  type SentSecret,
  toDeclaration,
} from './declaration.ts'
export { Unmappable } from './node.ts'
export { type FoundOperation, operationsIn, toName } from './operations.ts'
export { SCHEMA_CHARACTERS } from './schema.ts'
export { type NeededSecret, schemesIn } from './security.ts'
