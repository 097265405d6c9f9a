import { type Cancel, type Clock, reopening } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import type { Line } from './line.ts'
import { RPC, RpcError } from './rpc-error.ts'
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

/** One that answers so does not do this, and what changes is found out with the next start. Any other may have too many just now. */
const NEVER: ReadonlySet<number> = new Set([RPC.methodNotFound, RPC.invalidParams])

const LISTS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const

export function keepListening({ line, facts, clock, events, envelope }: ListeningDeps): Listening {
  const lists = (Object.keys(LISTS) as (keyof typeof LISTS)[]).filter(kind => isRecord(facts.capabilities[kind]))
  let uris: ReadonlySet<string> = new Set()
  let current = new AbortController()
  /** The one before, which tells until the current one does. */
  let former: AbortController | undefined
  let isOver = false
  /** Whether it said last that it does not do this, which is told once. */
  let isRefused = false
  /** Whether something may have changed at these addresses that nobody was there to be told. */
  let hasMissed = false
  let since: number | undefined
  const pauseAfter = reopening(PAUSES)
  let cancelPause: Cancel = () => {}

  function wanted(): Params {
    const notifications = Object.fromEntries(lists.map(kind => [LISTS[kind], true]))
    return uris.size === 0 ? notifications : { ...notifications, resourceSubscriptions: [...uris] }
  }

  async function open(): Promise<void> {
    if (isOver) return
    if (lists.length === 0 && uris.size === 0) return end()
    const controller = new AbortController()
    current = controller
    const openedAt = clock.now()
    const isTriedAgain = await listen(controller.signal)
    if (controller.signal.aborted) return
    broke(controller)
    if (controller === current && isTriedAgain) cancelPause = clock.after(pauseAfter(clock.now() - openedAt), again)
  }

  /** Resolves when it is over. Answers whether it is to be tried again. */
  async function listen(signal: AbortSignal): Promise<boolean> {
    try {
      const params = { notifications: wanted(), _meta: envelope() }
      await line.peer.request('subscriptions/listen', params, { signal })
      return true
    } catch (error) {
      // Anything but a clear no may be over in a moment. When nobody is there any more, the line ends by itself.
      if (!(error instanceof RpcError)) return true
      refused(error)
      return !NEVER.has(error.code)
    }
  }

  function refused({ message }: RpcError): void {
    if (!isRefused) events.onLog('warn', `It does not tell of changes: ${message}`)
    isRefused = true
  }

  function broke(controller: AbortController): void {
    if (controller === former) former = undefined
    if (former) return
    since = undefined
    hasMissed = true
  }

  /** The one that tells goes on until the next one does. */
  function giveWay(): void {
    if (since !== undefined && !former) former = current
    else current.abort()
  }

  function end(): void {
    former?.abort()
    former = undefined
    current.abort()
    since = undefined
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
    end()
  }

  void open()
  return {
    watch(next) {
      if (next.size === uris.size && [...next].every(uri => uris.has(uri))) return
      hasMissed ||= since === undefined && uris.size > 0
      uris = next
      cancelPause()
      giveWay()
      void open()
    },
    acknowledged() {
      since ??= clock.now()
      isRefused = false
      former?.abort()
      former = undefined
      if (!hasMissed) return
      hasMissed = false
      for (const uri of uris) events.onResourceUpdated(uri)
    },
    since: () => since,
    stop,
  }
}
