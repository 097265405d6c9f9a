import type { OperationRow } from '../../../contracts/index.ts'
import type { StorageAccess } from './storage.ts'

/** Where whoever called an operation waits for it. */
export type Awaited = 'here' | 'elsewhere' | 'nowhere'

export interface AwaitedDeps {
  readonly storage: StorageAccess
  /** Whether a caller waits for it in this process. */
  isHeld(id: string): boolean
}

/** How long what is allowed is left to another process, where its caller waits: that can tell it how far it has come. */
export const LEFT_TO_OTHERS_MS = 5_000

/** Who waits for an operation; in another process only where there is one. */
export function awaitedIn({ storage, isHeld }: AwaitedDeps) {
  return ({ id, awaitedUntil }: Pick<OperationRow, 'id' | 'awaitedUntil'>, now: number): Awaited => {
    if (isHeld(id)) return 'here'
    const { shared } = storage.current() ?? {}
    const mayBeElsewhere = shared !== undefined && !shared.nodes.isAlone()
    return mayBeElsewhere && awaitedUntil !== null && awaitedUntil > now ? 'elsewhere' : 'nowhere'
  }
}

export type WhereAwaited = ReturnType<typeof awaitedIn>
