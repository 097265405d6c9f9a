import { type Cancel, type Clock, reopening } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import type { Line } from './line.ts'
import { RpcError } from './rpc-error.ts'
import type { SessionEvents, SessionFacts } from './session.ts'

/** Hears what changes at a server of 2026-07-28 or later, for as long as the line is there. */
export interface Listening {
  /** Hears of these addresses too. */
  watch(uris: ReadonlySet<string>): void
  /** The server says that it tells from now on. */
  acknowledged(): void
  /** Since when that is so without a break; nothing while it is not. */
  since(): number | undefined
  stop(): void
}

export interface ListeningDeps {
  readonly line: Line
  readonly facts: SessionFacts
  readonly clock: Clock
  readonly events: SessionEvents
  envelope(): Params
}

const PAUSES = { firstMs: 1_000, longestMs: 30_000 }

const LISTS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const

export function keepListening({ line, facts, clock, events, envelope }: ListeningDeps): Listening {
  const lists = (Object.keys(LISTS) as (keyof typeof LISTS)[]).filter(kind => isRecord(facts.capabilities[kind]))
  let uris: ReadonlySet<string> = new Set()
  let current = new AbortController()
  let isOver = false
  let since: number | undefined
  const pauseAfter = reopening(PAUSES)
  let cancelPause: Cancel = () => {}

  function wanted(): Params {
    const notifications = Object.fromEntries(lists.map(kind => [LISTS[kind], true]))
    return uris.size === 0 ? notifications : { ...notifications, resourceSubscriptions: [...uris] }
  }

  async function open(): Promise<void> {
    if (isOver || (lists.length === 0 && uris.size === 0)) return
    const controller = new AbortController()
    current = controller
    since = undefined
    const openedAt = clock.now()
    try {
      const params = { notifications: wanted(), _meta: envelope() }
      await line.peer.request('subscriptions/listen', params, { signal: controller.signal })
    } catch (error) {
      if (controller.signal.aborted) return
      // It does not do this. What changes is found out with the next start.
      if (error instanceof RpcError) return
      // Anything else may be over in a moment. When nobody is there any more, the line ends by itself.
    } finally {
      if (current === controller) since = undefined
    }
    if (isOver || controller.signal.aborted) return
    cancelPause = clock.after(pauseAfter(clock.now() - openedAt), again)
  }

  /** What happened in between nobody has told. */
  function again(): void {
    void open()
    for (const kind of lists) events.onListChanged(kind)
  }

  void line.ended.then(stop)
  function stop(): void {
    isOver = true
    cancelPause()
    current.abort()
  }

  void open()
  return {
    watch(next) {
      if (next.size === uris.size && [...next].every(uri => uris.has(uri))) return
      uris = next
      cancelPause()
      current.abort()
      void open()
    },
    acknowledged() {
      since = clock.now()
    },
    since: () => since,
    stop,
  }
}
