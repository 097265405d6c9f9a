export {
  createMemory,
  createMemoryService,
  type Memory,
  type MemoryDeps,
  type MemoryHandlersDeps,
  memoryHandlers,
} from './memory.ts'
export { type Author, createMemoryScopes, MAY_WRITE_GLOBAL, type MemoryScopes, type Reader } from './write.ts'
