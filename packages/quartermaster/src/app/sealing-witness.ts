import { AppError } from '../contracts/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import { insert, type Sealer, type Store } from '../core/store/index.ts'
import { STORE_VARIABLES } from './store-choice.ts'

export interface WitnessOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly clock: Clock
  /** What to call the store in a message. */
  readonly place: string
}

/** A row of its own: what it says is no secret, only that it can be read. */
const WITNESS = {
  id: 'sealing-key',
  organisation: 'default',
  workspace: 'default',
  name: 'sealing-key',
  keptIn: 'store',
} as const
const PLACE = { table: 'secrets', id: WITNESS.id, column: 'sealed' } as const

/**
 * Makes sure that this process can open what others seal in the same database. The first one leaves a text that all later ones
 * have to be able to open: to find out only when an operation is to be run would be too late for its caller.
 */
export async function proveSameKey({ store, sealer, clock, place }: WitnessOptions): Promise<void> {
  const found = (await store.get('secrets', WITNESS.id)) ?? (await leave({ store, sealer, clock, place }))
  try {
    sealer.open(found?.sealed ?? '', PLACE)
  } catch {
    // The reason is always the same, and the message below says what to do about it.
    throw otherKey(place)
  }
}

async function leave({ store, sealer, clock }: WitnessOptions) {
  const now = Math.round(clock.now())
  const sealed = sealer.seal('quartermaster', PLACE)
  // Whoever came first has left the one that counts.
  await store.commit([
    insert('secrets', { ...WITNESS, sealed, purpose: 'Shows which key is used', createdAt: now, updatedAt: now }),
  ])
  return store.get('secrets', WITNESS.id)
}

function otherKey(place: string): AppError {
  const message = `What is sealed in the store ${place} was sealed with another key than this process has.`
  const next = `Set ${STORE_VARIABLES.sealingKey} to that key: it stands in the file sealing-key of the data folder that was used with this database first.`
  return new AppError('CONFIG_INVALID', `${message} ${next}`, { details: { place } })
}
