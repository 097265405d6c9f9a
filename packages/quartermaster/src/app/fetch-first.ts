import type { Control, ControlOptions } from '../contracts/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import type { Runtime } from './runtime.ts'

export interface FetchFirstDeps {
  readonly clock: Clock
  readonly core: { readonly catalogue: Pick<Runtime['core']['catalogue'], 'current' | 'reload'> }
  readonly upstreams: Pick<Runtime['upstreams'], 'fetch' | 'statuses'>
  look(): Promise<void>
}

/** Quicker than this is no download. */
const TOLD_AFTER_MS = 8_000

/**
 * A control for one command, which has not begun with servers that may have to be downloaded. They are started for whoever asks
 * for all tools, or for one that is not there without them, and are waited for: to leave would end a download in the midst. Who
 * cannot be told that it goes on, as a shell that completes a word, does without them.
 */
export function fetchFirst(control: Control, deps: FetchFirstDeps): Control {
  const { core, look } = deps
  const isKnown = (tool: string) => core.catalogue.current().tools.has(tool)

  async function fetched(options: ControlOptions | undefined, tool?: string): Promise<void> {
    if (!options?.onProgress || (tool !== undefined && isKnown(tool))) return
    const cancel = tellLater(deps, options.onProgress)
    const isMore = await deps.upstreams.fetch(tool).finally(cancel)
    if (!isMore) return
    await core.catalogue.reload()
    await look()
  }

  return {
    ...control,
    async tools(input, options) {
      await fetched(options)
      return await control.tools(input, options)
    },
    async tool(input, options) {
      await fetched(options, input.name)
      return await control.tool(input, options)
    },
    async call(input, options) {
      await fetched(options, input.tool)
      return await control.call(input, options)
    },
  }
}

function tellLater({ clock, upstreams }: FetchFirstDeps, tell: NonNullable<ControlOptions['onProgress']>): () => void {
  return clock.after(TOLD_AFTER_MS, () => {
    const names = upstreams.statuses().flatMap(one => (one.isFetching && one.state === 'starting' ? [one.name] : []))
    const message = `ready; ${names.join(', ')} may be downloading what it runs, and Ctrl-C leaves it`
    if (names.length > 0) tell({ progress: 0, total: names.length, message })
  })
}
