import type { RemoteToolboxOptions } from '../adapters/mcp-toolbox/index.ts'
import { closedToolbox, type OpenToolbox, type Toolbox } from '../contracts/index.ts'
import type { Seat } from '../core/agents/index.ts'
import { createListeners, type Log, refuseNoPlace, withoutUndefined } from '../core/kernel/index.ts'
import type { KeptResults } from '../core/operations/index.ts'

/** The tools of the agent whose token this is, behind a running `up`: the same as in its process. */
export async function openToolbox(options: RemoteToolboxOptions): Promise<OpenToolbox> {
  // Loaded here and not above: project code imports this package as well, and needs no client.
  const { connectToolbox } = await import('../adapters/mcp-toolbox/index.ts')
  const { createSystemClock } = await import('../adapters/system/index.ts')
  return connectToolbox(options, { clock: createSystemClock(), random: Math.random })
}

export interface HostToolboxDeps {
  readonly caller: Seat['caller']
  readonly results: Pick<KeptResults, 'page'>
  readonly log: Log
}

/** The tools of an agent of this process as its host program holds them: code of its own that throws is none of our business. */
export function hostToolbox(toolbox: Toolbox, { caller, results, log }: HostToolboxDeps): OpenToolbox {
  const listeners = createListeners({
    onError: error => log.warn('A listener to changes of a toolbox has thrown.', { error: String(error) }),
  })
  let isClosed = false
  let stopFollowing: (() => void) | undefined
  return {
    ...toolbox,
    call: async (name, input, options) => toolbox.call(name, withoutUndefined(input), options),
    async page(resultId, offset) {
      if (isClosed) throw closedToolbox()
      refuseNoPlace(resultId, offset)
      const { text, nextOffset } = await results.page(caller, resultId, offset)
      return nextOffset === undefined ? { text } : { text, nextOffset }
    },
    onChange(listener) {
      if (isClosed) throw closedToolbox()
      stopFollowing ??= toolbox.onChange(listeners.tell)
      return listeners.add(listener)
    },
    async close() {
      isClosed = true
      listeners.clear()
      stopFollowing?.()
      await toolbox.close()
    },
  }
}
