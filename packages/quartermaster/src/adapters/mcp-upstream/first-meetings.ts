import { type Clock, createCancellation } from '../../core/kernel/index.ts'
import { pause } from './pausing.ts'
import { DOWNLOAD_MS } from './target/first-start.ts'
import type { Upstream } from './upstream.ts'

/** The one of this name, or those that may have this tool. */
export type MeetChoice = { readonly name: string } | { readonly tool: string }

/** Starts servers that nobody has ever seen for whoever needs them, and waits for what they have. */
export interface FirstMeetings {
  /** Whether this server makes its first attempt to start now, or has been seen, so that what it has comes with the next reload. */
  isComing(name: string): boolean
  /** Calls back when the state of any server changes. Returns how to stop. */
  onState(listener: () => void): () => void
  /**
   * Resolves when nobody is being met for the first time any more, or the time is over, or the grace since one of them last came.
   * Before any has come there is no grace, only the time. What is being downloaded gets more.
   */
  met(withinMs: number, options?: { graceMs?: number }): Promise<void>
  /**
   * Somebody calls what may be a tool of one that nobody has seen: it does not wait for its turn any longer. Resolves when it is
   * there, is not to be waited for, or the time is over. Answers whether what it has is known now. Only where servers are kept.
   */
  meetNow(name: string, withinMs: number): Promise<boolean>
  /**
   * Starts these, where nobody has seen them, they were not tried yet and need not be downloaded first, and no others. Resolves
   * when each is there or given up, or the time is over. Answers whether there were any.
   */
  meetOnly(choice: MeetChoice, withinMs: number): Promise<boolean>
  /**
   * Starts the one of this name, or all, where they were seen before and do not run, so that what they have is judged by what they
   * list now. Resolves when that was done or they are given up, or the time is over. Answers whether any was started. Only where
   * a command alone uses servers.
   */
  meetAgain(name: string | undefined, withinMs: number): Promise<boolean>
  /**
   * Starts those that nobody has seen because they may have to be downloaded first, of a tool's name those that may have it, and
   * resolves when each is there or given up. Answers whether any is there now.
   */
  download(tool?: string): Promise<boolean>
}

export interface FirstMeetingsDeps {
  readonly clock: Clock
  /** By name. */
  readonly mounted: ReadonlyMap<string, Upstream>
  /** Whether nobody can tell if it was seen before. */
  isUnread(upstream: Upstream): boolean
  /** Whether servers are kept running here. */
  areKept(): boolean
  /** Settles as the last configuration did that was to be adopted. */
  adopted(): Promise<unknown>
  /** Tells whenever one of them stands elsewhere. Returns how to stop. */
  onState(listener: () => void): () => void
}

/**
 * Whoever waits for servers to be met ends them by leaving. One that is being downloaded gets this much longer, and no more:
 * it may as well hang.
 */
const MORE_FOR_DOWNLOAD_MS = 50_000

export function createFirstMeetings(deps: FirstMeetingsDeps): FirstMeetings {
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
   * Those that come at all mostly come together, and one that hangs comes never. Whoever came is known from then on, so the next
   * command waits for the others from the beginning: nobody who comes within the time is left for ever. One that fails would be
   * there again each time, and says nothing of the others.
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

  /** Waits for one that is wanted until it is there, or nobody who needs it would wait on. */
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
        // One that is being replaced is there again when the configuration is adopted.
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
      // One that was tried stands as that ended: nobody waits for it a second time.
      const isLeft = (one: Upstream) => isUnseen(one) && !one.mayNeedDownload() && one.status().state === 'idle'
      const wanted = all().filter(one => isAsked(one) && isLeft(one))
      for (const one of wanted) one.start()
      await until(() => !wanted.some(isBeingMet), withinMs)
      return wanted.length > 0
    },
    async meetAgain(name, withinMs) {
      if (areKept()) return false
      await adopted().catch(() => {})
      // One that was tried stands as that ended: nobody waits for it a second time.
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
      // None takes longer: by then its start has failed.
      await until(() => !wanted.some(isBeingMet), DOWNLOAD_MS)
      return wanted.some(one => !one.isUnseen())
    },
  }
}

function isBeingMet(upstream: Upstream): boolean {
  return upstream.isUnseen() && upstream.isStarting()
}

/** Whether it has been failing for so long that its calls do not wait for it any more, and is not being tried just now. */
function isGivenUp(upstream: Upstream): boolean {
  const { state, nextStartAt } = upstream.status()
  return state === 'down' && nextStartAt !== undefined
}
