import type { Clock } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { pause } from '../pausing.ts'
import { beforeAbort } from '../session/before-abort.ts'
import { ChannelFailure } from '../session/channel.ts'
import type { Session } from '../session/session.ts'

/** Attempts to reach a server, one at a time. */
export interface Openings {
  /** Begins when everything before is over. */
  begin(hopes: Hopes): void
  /** Gives up the attempt that is under way. */
  giveUp(reason: string): void
  /** Whatever is being ended is to be gone before the next attempt, so that there are never two. */
  waitFor(ending: Promise<unknown>): void
  /** Resolves when nothing is under way, and what was given up is gone, or could not be ended. */
  settled(): Promise<unknown>
}

export interface Hopes {
  /** Answers whether anybody still wants it. */
  onOpened(session: Session): boolean
  onFailed(error: unknown): void
}

export interface OpeningsDeps {
  readonly clock: Clock
  /** How long an attempt that begins now may take. */
  startMs(): number
  open(signal: AbortSignal): Promise<Session>
  /** What its program has written in place of messages, if it has not sent one yet. */
  noise(): string | undefined
}

/** Longer than a program takes that has to be killed. What does not end by then is waited for no longer. */
const GONE_MS = 10_000

export function createOpenings({ clock, startMs, open, noise }: OpeningsDeps): Openings {
  let current = new AbortController()
  let last: Promise<unknown> = Promise.resolve()
  let ending: Promise<unknown> = Promise.resolve()

  async function attempt(before: Promise<unknown>, controller: AbortController, hopes: Hopes): Promise<void> {
    const { signal } = controller
    try {
      await before
      await beforeAbort(ending, signal)
      const session = await openInTime(controller)
      if (!hopes.onOpened(session)) await session.close()
    } catch (error) {
      hopes.onFailed(signal.aborted ? signal.reason : error)
    }
  }

  async function openInTime(controller: AbortController): Promise<Session> {
    const ms = startMs()
    const cancel = clock.after(ms, () => controller.abort(tooLate(ms, noise())))
    return openBefore(controller.signal).finally(cancel)
  }

  /** Whatever it waits for, it is given up when it is to be; what comes of it later is closed, and gone before the next attempt. */
  function openBefore(signal: AbortSignal): Promise<Session> {
    const coming = open(signal)
    const closed = coming.then(late => (signal.aborted ? late.close() : undefined))
    closed.catch(() => {})
    return beforeAbort(coming, signal).catch(error => {
      if (signal.aborted) ending = pause(GONE_MS, { clock, until: closed })
      throw error
    })
  }

  return {
    begin(hopes) {
      current = new AbortController()
      last = attempt(last, current, hopes)
    },
    giveUp: reason => current.abort(new Error(reason)),
    waitFor(next) {
      ending = next
    },
    // Whoever has waited for that takes it for gone, and may have it run elsewhere: what was given up may still be there.
    settled: () => last.then(() => ending),
  }
}

/** What is no MCP server at all tells so by what it prints. */
function tooLate(ms: number, noise: string | undefined): Error {
  const reason = `It was not ready within ${ms / 1000} s`
  if (noise === undefined) return new Error(`${reason}.`)
  const said = excerptOf(noise, MOST_SAID)
  return new ChannelFailure({ kind: 'garbled', reason: `${reason}, and writes lines that are no messages.`, said })
}
