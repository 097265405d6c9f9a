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
  /** Those of them that the current one asks for, and those that the server has taken last. */
  let asked = uris
  let taken = uris
  let current = new AbortController()
  /** The one before, which tells until the current one does. */
  let former: AbortController | undefined
  let isOver = false
  /** Whether it said last that it does not do this, which is told once. */
  let isRefused = false
  /** Whether something may have changed that nobody was there to be told. */
  let hasMissed = false
  let since: number | undefined
  const pauseAfter = reopening(PAUSES)
  let cancelPause: Cancel = () => {}

  function wanted(): Params {
    const notifications = Object.fromEntries(lists.map(kind => [LISTS[kind], true]))
    return asked.size === 0 ? notifications : { ...notifications, resourceSubscriptions: [...asked] }
  }

  async function open(): Promise<void> {
    if (isOver) return
    if (lists.length === 0 && asked.size === 0) return end()
    const controller = new AbortController()
    current = controller
    const openedAt = clock.now()
    const over = await listen(controller.signal)
    if (controller.signal.aborted) return
    if (over === 'never' && controller === current && [...asked].some(uri => !taken.has(uri))) return askForLess()
    // It may have no place for two.
    if (over === 'notNow') former?.abort()
    broke(over === 'notNow' ? former : controller)
    if (controller === current && over !== 'never')
      cancelPause = clock.after(pauseAfter(clock.now() - openedAt), () => void open())
  }

  /** Resolves when it is over, with whether it is to be asked again. */
  async function listen(signal: AbortSignal): Promise<'broken' | 'notNow' | 'never'> {
    try {
      const params = { notifications: wanted(), _meta: envelope() }
      await line.peer.request('subscriptions/listen', params, { signal })
      return 'broken'
    } catch (error) {
      // Anything but a clear no may be over in a moment. When nobody is there any more, the line ends by itself.
      if (!(error instanceof RpcError)) return 'broken'
      refused(error)
      return NEVER.has(error.code) ? 'never' : 'notNow'
    }
  }

  /** It may be for an address that is new that it says no, and it would say so as long as that is among them. */
  function askForLess(): void {
    asked = new Set([...uris].filter(uri => taken.has(uri)))
    if (!former) return void open()
    current = former
    former = undefined
  }

  function refused({ message }: RpcError): void {
    if (!isRefused) events.onLog('warn', `It does not tell of changes: ${message}`)
    isRefused = true
  }

  function broke(controller: AbortController | undefined): void {
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
      asked = next
      cancelPause()
      giveWay()
      void open()
    },
    acknowledged() {
      since ??= clock.now()
      isRefused = false
      taken = asked
      former?.abort()
      former = undefined
      if (!hasMissed) return
      hasMissed = false
      for (const kind of lists) events.onListChanged(kind)
      for (const uri of asked) events.onResourceUpdated(uri)
    },
    since: () => since,
    stop,
  }
}
