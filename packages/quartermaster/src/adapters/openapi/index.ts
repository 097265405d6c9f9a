export { type ApiDocument, DOCUMENT_BYTES, readApiDocument, refuseTooLarge } from './api-document.ts'
export {
  type DeclarationOptions,
  type MadeDeclaration,
  type MappingOptions,
  obstacleTo,
  type SentSecret,
  toDeclaration,
} from './declaration.ts'
export { freeNames, LONGEST_NAME } from './names.ts'
export { Unmappable } from './node.ts'
export { type FoundOperation, operationsIn, requestOf, toName } from './operations.ts'
export { SCHEMA_CHARACTERS } from './schema.ts'
export { type NeededSecret, schemesIn } from './security.ts'
