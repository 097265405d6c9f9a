import type { Control, ControlOptions } from '../contracts/index.ts'
import type { Cancel, Clock } from '../core/kernel/index.ts'
import type { Runtime } from './runtime.ts'

export interface FetchFirstDeps {
  readonly clock: Clock
  readonly core: { readonly catalogue: Pick<Runtime['core']['catalogue'], 'current' | 'reload'> }
  readonly upstreams: Pick<Runtime['upstreams'], 'download' | 'statuses'>
  look(): Promise<void>
}

/** Quicker than this is no download. */
const TOLD_AFTER_MS = 8_000
const LOOK_EVERY_MS = 1_000

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
    const cancel = tellOften(deps, options)
    const isMore = await deps.upstreams.download(tool).finally(cancel)
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
    restartUpstream(input, options = {}) {
      // Whoever asks waits on for what is being downloaded, and tells of it then.
      const { onProgress: _, ...others } = options
      const cancel = tellOften(deps, others)
      return control.restartUpstream(input, options).finally(cancel)
    },
  }
}

/** Says whom it waits for, at once to who asks for it and after some time to everybody, and again when these are others. */
function tellOften({ clock, upstreams }: FetchFirstDeps, { onProgress, onAwaiting }: ControlOptions): Cancel {
  const startedAt = clock.now()
  let awaited = ''
  let told = ''
  let all = 0
  let cancel: Cancel = () => {}
  function look() {
    const names = upstreams.statuses().flatMap(one => (one.isFetching && one.state === 'starting' ? [one.name] : []))
    const text = names.join(', ')
    all = Math.max(all, names.length)
    if (text !== awaited) onAwaiting?.(names)
    awaited = text
    if (text !== '' && text !== told && clock.now() - startedAt >= TOLD_AFTER_MS) {
      told = text
      const message = `ready; ${text} may be downloading what it runs, and Ctrl-C leaves it`
      onProgress?.({ progress: all - names.length, total: all, message })
    }
    cancel = clock.after(LOOK_EVERY_MS, look)
  }
  cancel = clock.after(0, look)
  return () => {
    cancel()
    if (awaited !== '') onAwaiting?.([])
  }
}
