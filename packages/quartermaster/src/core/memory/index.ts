export { type Author, createShelves, MAY_WRITE_GLOBAL, type Reader, type Shelves } from './keeping.ts'
export {
  createMemory,
  createMemoryDesk,
  type Memory,
  type MemoryDeps,
  type MemoryHandlersDeps,
  memoryHandlers,
} from './memory.ts'
export { type Redacted, redactSecrets, TAKEN_OUT } from './redaction.ts'
