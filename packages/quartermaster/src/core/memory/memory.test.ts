import { memoryContract } from '../../testing/memory-contract.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'

memoryContract('a store that is only memory', createMemoryStore)
