import { type Clock, createCancellation } from '../../core/kernel/index.ts'
import { pause } from './peer/abort.ts'
import type { Upstream } from './upstream.ts'
import { DOWNLOAD_MS } from './upstream-entry.ts'

/** The server of this name, or those that may have this tool. */
export type MeetChoice = { readonly name: string } | { readonly tool: string }

/** Connects to servers that were never connected before, for callers that need them, and waits for their tools. */
export interface FirstConnects {
  /**
   * Whether this server makes its first attempt to start now, or is known, so that its tools come with the next reload.
   */
  isComing(name: string): boolean
  /** Calls back when the state of any server changes. Returns how to stop. */
  onState(listener: () => void): () => void
  /**
   * Resolves when no first connection is in progress, or after the time, or the grace period since a server last
   * connected. There is no grace period before the first. Downloads get more time.
   */
  met(withinMs: number, options?: { graceMs?: number }): Promise<void>
  /**
   * A call may be for a tool of a server that was never connected: it starts at once. Resolves when it is up, is not to
   * be waited for, or the time is over. Answers whether its tools are known now. Only where servers are kept running.
   */
  meetNow(name: string, withinMs: number): Promise<boolean>
  /**
   * Starts these servers, and no others, where they were never connected, not tried yet and need no download. Resolves
   * when each is up or has failed, or the time is over. Answers whether there were any.
   */
  meetOnly(choice: MeetChoice, withinMs: number): Promise<boolean>
  /**
   * Starts the server of this name, or all, where they are known and do not run, so that their tools are judged by a
   * new listing. Resolves when that is done or has failed, or the time is over. Answers whether any was started. Only
   * for single commands.
   */
  meetAgain(name: string | undefined, withinMs: number): Promise<boolean>
  /**
   * Starts servers never connected because they may need a download; given a tool, those that may have it. Resolves
   * when each is up or has failed. Answers whether any is up.
   */
  download(tool?: string): Promise<boolean>
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
  const isUnseen = (one: Upstream) => one.isUnseen() && !isUnread(one)
  const all = () => [...mounted.values()]
  const countSeen = () => all().filter(one => !one.isUnseen()).length

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

  /**
   * Servers mostly connect together; one that hangs never does. A server that connected is known from then on, so the
   * next command waits for the others from the beginning and none is left out permanently. One that fails would be
   * there again each time, and says nothing about the others.
   */
  async function mostMet(end: number, graceMs: number): Promise<void> {
    const isAnyLeft = () => all().some(isBeingMet)
    let waitMs = end - clock.now()
    while (isAnyLeft()) {
      const before = countSeen()
      await until(() => !isAnyLeft() || countSeen() > before, waitMs)
      if (countSeen() <= before) return
      waitMs = Math.min(graceMs, end - clock.now())
    }
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
    async met(withinMs, { graceMs = withinMs } = {}) {
      await adopted().catch(() => {})
      await mostMet(clock.now() + withinMs, graceMs)
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
    async meetOnly(choice, withinMs) {
      await adopted().catch(() => {})
      const isAsked = (one: Upstream) => ('name' in choice ? one.name === choice.name : one.mayOffer(choice.tool))
      // A server that was tried is not waited for a second time.
      const isLeft = (one: Upstream) => isUnseen(one) && !one.mayNeedDownload() && one.status().state === 'idle'
      const wanted = all().filter(one => isAsked(one) && isLeft(one))
      for (const one of wanted) one.start()
      await until(() => !wanted.some(isBeingMet), withinMs)
      return wanted.length > 0
    },
    async meetAgain(name, withinMs) {
      if (areKept()) return false
      await adopted().catch(() => {})
      // A server that was tried is not waited for a second time.
      const isLeft = (one: Upstream) => !isUnread(one) && !one.isUnseen() && one.status().state === 'idle'
      const wanted = all().filter(one => (name === undefined || one.name === name) && isLeft(one))
      for (const one of wanted) one.start({ isWanted: true })
      await until(() => !wanted.some(one => one.isStarting()), withinMs)
      return wanted.length > 0
    },
    async download(tool) {
      await adopted().catch(() => {})
      const isWanted = (one: Upstream) =>
        isUnseen(one) && one.mayNeedDownload() && (tool === undefined || one.mayOffer(tool))
      const wanted = all().filter(isWanted)
      for (const one of wanted) one.start()
      // Nothing takes longer: by then the start has failed.
      await until(() => !wanted.some(isBeingMet), DOWNLOAD_MS)
      return wanted.some(one => !one.isUnseen())
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
