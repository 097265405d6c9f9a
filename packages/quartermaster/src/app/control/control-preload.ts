import { createSystemClock } from '../../adapters/system/index.ts'
import type { Control, ControlOptions } from '../../contracts/index.ts'
import type { Cancel } from '../../core/kernel/index.ts'
import type { Runtime } from '../bootstrap/runtime.ts'
import { isLocked } from '../project/lazy-store.ts'

export interface PreloadDeps extends Pick<Runtime, 'connectAll' | 'readListings'> {
  readonly core: { readonly catalogue: Pick<Runtime['core']['catalogue'], 'current'> }
  readonly upstreams: Pick<Runtime['upstreams'], 'statuses'>
}

/**
 * The control of a command without an `up`. Servers are known by their stored listings; only `doctor` and
 * `restartUpstream` connect them. If another command had the store when this one began, the listings are read now; while
 * they cannot be read an operation that needs them throws `STORE_LOCKED`, and its caller waits and tries again. `status`
 * and `doctor` answer all the same: they report the state.
 */
export function withPreload(control: Control, { core, readListings, connectAll, upstreams }: PreloadDeps): Control {
  /** A known tool needs no other listings. */
  async function readForTool(name: string): Promise<void> {
    if (!core.catalogue.current().tools.has(name)) await readListings()
  }

  /** A shell that completes a word shows no progress, and does not wait. */
  async function readForAll(_input: unknown, options: ControlOptions | undefined): Promise<void> {
    if (!options?.onProgress) return
    await readListings().catch(error => {
      // Another fault of the store hides no tool that needs none, and `doctor` reports it.
      if (isLocked(error)) throw error
    })
  }

  return {
    ...control,
    tools: after(readForAll, control.tools),
    tool: after(({ name }) => readForTool(name), control.tool),
    capabilities: after(readForAll, control.capabilities),
    agents: after(readForAll, control.agents),
    checkAgent: after(readForAll, control.checkAgent),
    prompt: after(readForAll, control.prompt),
    grant: after(readForAll, control.grant),
    recheck: after(readForAll, control.recheck),
    call: after(({ tool }) => readForTool(tool), control.call),
    doctor: after(connectAll, control.doctor),
    restartUpstream(input, options = {}) {
      const cancel = reportDownloads(upstreams, options)
      return control.restartUpstream(input, options).finally(cancel)
    },
  }
}

type Operation<I, O> = (input: I, options?: ControlOptions) => Promise<O>

function after<I, O>(first: Operation<I, void>, operation: Operation<I, O>): Operation<I, O> {
  return async (input, options) => {
    await first(input, options)
    return await operation(input, options)
  }
}

const LOOK_EVERY_MS = 1_000

/** Reports which upstreams may be downloading what they run, and again when that changes. */
function reportDownloads(upstreams: PreloadDeps['upstreams'], { onAwaiting }: ControlOptions): Cancel {
  const clock = createSystemClock()
  let awaited = ''
  let cancel: Cancel = () => {}
  function look() {
    const names = upstreams.statuses().flatMap(one => (one.isFetching && one.state === 'starting' ? [one.name] : []))
    const text = names.join(', ')
    if (text !== awaited) onAwaiting?.(names)
    awaited = text
    cancel = clock.after(LOOK_EVERY_MS, look)
  }
  cancel = clock.after(0, look)
  return () => {
    cancel()
    if (awaited !== '') onAwaiting?.([])
  }
}
