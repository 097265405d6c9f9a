import { describe } from 'vitest'
import { crowdContract } from './store-contract/crowds.ts'
import { durabilityContract } from './store-contract/durability.ts'
import { guardContract } from './store-contract/guards.ts'
import { readingContract } from './store-contract/reading.ts'
import type { StoreSubject } from './store-contract/stage.ts'

export type { OpenedStore, StoreSubject } from './store-contract/stage.ts'

/** Every promise of the `Store` port, for each implementation. */
export function storeContract(name: string, subject: StoreSubject): void {
  describe(`the ${name} store`, () => {
    guardContract(subject)
    readingContract(subject)
    crowdContract(subject)
    durabilityContract(subject)
  })
}
