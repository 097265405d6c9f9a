import { describe } from 'vitest'
import { createMemoryStore } from './memory-store.ts'
import { guardContract } from './store-contract/guards.ts'
import { readingContract } from './store-contract/reading.ts'
import type { StoreSubject } from './store-contract/stage.ts'

const subject: StoreSubject = {
  open: async () => ({ ...createMemoryStore(), close: async () => {} }),
  shapes: [],
  built: { module: '', name: '' },
  syncsItself: true,
  isHalfWay: async () => false,
}

describe('the store in memory', () => {
  guardContract(subject)
  readingContract(subject)
})
