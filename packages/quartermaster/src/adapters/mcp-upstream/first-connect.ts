import { type Clock, createCancellation } from '../../core/kernel/index.ts'
import { pause } from './peer/abort.ts'
import type { Upstream } from './upstream.ts'

/** Connects to servers that were never connected before, for callers that need them, and waits for their tools. */
export interface FirstConnects {
  /**
   * Whether this server makes its first attempt to start now, or is known, so that its tools come with the next reload.
   */
  isComing(name: string): boolean
  /** Calls back when the state of any server changes. Returns how to stop. */
  onState(listener: () => void): () => void
  /** Resolves when no first connection is in progress, or after the time. Downloads get more time. */
  met(withinMs: number): Promise<void>
  /**
   * A call may be for a tool of a server that was never connected: it starts at once. Resolves when it is up, is not to
   * be waited for, or the time is over. Answers whether its tools are known now. Only where servers are kept running.
   */
  meetNow(name: string, withinMs: number): Promise<boolean>
  /**
   * For a single command: starts every server that does not run and needs no download. Resolves when each is up or has
   * failed, or the time is over. Answers whether any was started.
   */
  connectAll(withinMs: number): Promise<boolean>
}

interface FirstConnectsDeps {
  readonly clock: Clock
  readonly mounted: ReadonlyMap<string, Upstream>
  /** Whether it is unknown if it was ever connected. */
  isUnread(upstream: Upstream): boolean
  /** Whether servers are kept running here. */
  areKept(): boolean
  /** Settles when the last configuration was adopted. */
  adopted(): Promise<unknown>
  /** Calls back when the state of any server changes. Returns how to stop. */
  onState(listener: () => void): () => void
}

/**
 * After this wait the command ends, and with it the servers. A download gets this much longer, and no more: it may hang
 * as well.
 */
const MORE_FOR_DOWNLOAD_MS = 50_000

export function createFirstConnects(deps: FirstConnectsDeps): FirstConnects {
  const { clock, mounted, isUnread, areKept, adopted, onState } = deps
  const all = () => [...mounted.values()]

  function until(isSo: () => boolean, withinMs: number): Promise<void> {
    if (isSo()) return Promise.resolve()
    return new Promise(resolve => {
      const end = () => {
        cancel()
        stop()
        resolve()
      }
      const cancel = clock.after(withinMs, end)
      const stop = onState(() => isSo() && end())
    })
  }

  /** Waits for a server until it is up, or its callers would give up waiting. */
  async function comes(upstream: Upstream, withinMs: number): Promise<void> {
    const { signal, cancel } = createCancellation()
    const look = () => isGivenUp(upstream) && cancel(new Error('It is down.'))
    const stop = onState(look)
    upstream.start({ isWanted: true })
    look()
    await upstream.comeUp({ withinMs, signal }).finally(stop)
  }

  return {
    isComing(name) {
      const one = mounted.get(name)
      return one !== undefined && (one.isStarting() || !one.isUnseen())
    },
    onState,
    async met(withinMs) {
      await adopted().catch(() => {})
      await until(() => !all().some(isBeingMet), withinMs)
      const isDownloading = () => all().some(one => isBeingMet(one) && one.mayBeDownloading())
      await until(() => !isDownloading(), MORE_FOR_DOWNLOAD_MS)
    },
    async meetNow(name, withinMs) {
      if (!areKept()) return false
      const end = clock.now() + withinMs
      for (;;) {
        // A server being replaced is back when the configuration is adopted.
        await pause(end - clock.now(), { clock, until: adopted() })
        const one = mounted.get(name)
        if (!one || isUnread(one)) return false
        if (one.isUnseen()) await comes(one, end - clock.now())
        if (mounted.get(name) === one) return !one.isUnseen()
      }
    },
    async connectAll(withinMs) {
      if (areKept()) return false
      await adopted().catch(() => {})
      // A server that was tried is not waited for a second time.
      const isIdle = (one: Upstream) => !isUnread(one) && !one.mayNeedDownload() && one.status().state === 'idle'
      const wanted = all().filter(isIdle)
      for (const one of wanted) one.start({ isWanted: true })
      await until(() => !wanted.some(one => one.isStarting()), withinMs)
      return wanted.length > 0
    },
  }
}

function isBeingMet(upstream: Upstream): boolean {
  return upstream.isUnseen() && upstream.isStarting()
}

/** Whether it has failed for so long that calls no longer wait for it, and is not being tried just now. */
function isGivenUp(upstream: Upstream): boolean {
  const { state, nextStartAt } = upstream.status()
  return state === 'down' && nextStartAt !== undefined
}
