import { setTimeout as wait } from 'node:timers/promises'
import { createControlClient } from '../adapters/control-client/index.ts'
import { connectToOwner } from '../adapters/data-folder/index.ts'
import { CONTROL, type Control, type ControlOperation } from '../contracts/index.ts'
import { isLocked } from './take-folder.ts'

/** Whoever has the folder and does not answer starts, ends, or is a command that is done in a moment. */
const PATIENCE_MS = 5_000
const LOOK_EVERY_MS = 50

type Ask = (input: never, options?: never) => Promise<unknown>

/** A control in process that turns to the `up` which took the folder before it did: one may be starting at this very moment. */
export function orOwner(control: Control, dir: string): Control {
  let owner: Control | undefined

  const asker =
    (operation: ControlOperation): Ask =>
    async (input, options) => {
      for (const until = performance.now() + PATIENCE_MS; ; await wait(LOOK_EVERY_MS)) {
        try {
          return await ((owner ?? control)[operation] as Ask)(input, options)
        } catch (error) {
          // The store was not opened, so nothing was done.
          if (owner || !isLocked(error) || performance.now() > until) throw error
          const found = await connectToOwner({ dir })
          if (found) owner = createControlClient(found)
        }
      }
    }

  const operations = Object.keys(CONTROL) as ControlOperation[]
  return Object.fromEntries(operations.map(operation => [operation, asker(operation)])) as unknown as Control
}
