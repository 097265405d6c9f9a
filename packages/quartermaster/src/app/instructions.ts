import { messageOf, type Platform } from '../contracts/index.ts'
import type { Seat } from '../core/agents/index.ts'
import type { Clock, Log } from '../core/kernel/index.ts'

export interface InstructionsDeps {
  readonly memory: Platform['memory']
  readonly clock: Clock
  readonly log: Log
}

/** Nobody waits for a store that is away: a session without it begins all the same. */
const PATIENCE_MS = 500

/** What a client is told when a session of its agent begins: what the agent's workspace remembers, if it has that capability. */
export function createInstructions({ memory, clock, log }: InstructionsDeps) {
  async function remembered({ caller: { organisation, workspace } }: Seat): Promise<string | undefined> {
    try {
      return await (await memory()).remembered({ organisation, workspace })
    } catch (error) {
      log.debug('a session begins without what its workspace remembers', { workspace, error: messageOf(error) })
      return undefined
    }
  }

  return (seat: Seat): Promise<string | undefined> => {
    if (!seat.view().tools.some(({ capability }) => capability === 'memory')) return Promise.resolve(undefined)
    return new Promise(resolve => {
      const cancel = clock.after(PATIENCE_MS, () => resolve(undefined))
      void remembered(seat).then(text => {
        cancel()
        resolve(text)
      })
    })
  }
}
