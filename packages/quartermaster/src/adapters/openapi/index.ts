export {
  type ApiDocument,
  DOCUMENT_BYTES,
  freeNames,
  LONGEST_NAME,
  readApiDocument,
  refuseTooLarge,
  Unmappable,
  YAML_BYTES,
} from './api-document.ts'
export {
  type DeclarationOptions,
  type MadeDeclaration,
  type MappingOptions,
  obstacleTo,
  type SentSecret,
  toDeclaration,
} from './declaration.ts'
export { type FoundOperation, type NeededSecret, operationsIn, requestOf, schemesIn, toName } from './operations.ts'
export { SCHEMA_CHARACTERS } from './schema.ts'
