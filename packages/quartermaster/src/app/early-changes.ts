import type { OperationChange } from '../contracts/index.ts'
import type { Emitter } from '../core/kernel/index.ts'

/** What becomes of operations while the store is opened, which is before anybody can listen. */
export interface EarlyChanges {
  note(change: OperationChange): void
  /**
   * Tells what was noted, and from now on at once. That something is to be tried again has a process begin with it: it is told
   * only where this one goes on with what others left.
   */
  tellTo(emitter: Pick<Emitter, 'emit'>, options: { readonly goesOn: boolean }): void
}

export function createEarlyChanges(): EarlyChanges {
  const noted: OperationChange[] = []
  let tell = (change: OperationChange): void => void noted.push(change)
  return {
    note: change => tell(change),
    tellTo(emitter, { goesOn }) {
      tell = change => {
        if (goesOn || change.to !== 'queued') emitter.emit('operation.changed', change)
      }
      for (const change of noted.splice(0)) tell(change)
    },
  }
}
