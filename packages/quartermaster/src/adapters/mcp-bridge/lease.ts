import { toAppError } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import type { Gateway } from './gateway.ts'

/** A gateway's token, kept good for as long as somebody needs it. */
export interface Lease {
  readonly gateway: Gateway
  /** Something is open under it until the answer is called. */
  hold(): () => void
  /** Nothing new comes. It is given back when nothing is open under it any more. */
  retire(): void
  /** Gives it back now, whatever is open. */
  giveBack(): Promise<void>
}

export interface LeaseDeps {
  readonly clock: Clock
  readonly gateway: Gateway
  /** It is over: its time has passed, or the gateway does not know it any more. */
  onOver(): void
  /** It was given back, or is over: nobody has to think of it any more. */
  onDone(): void
}

export function createLease({ clock, gateway, onOver, onDone }: LeaseDeps): Lease {
  const { goodForMs } = gateway
  let goodUntil = clock.now() + goodForMs
  let open = 0
  let isRetired = false
  let isDone = false
  let cancel = extendIn(goodForMs / 3)

  function extendIn(ms: number) {
    return clock.after(ms, () => void extend())
  }

  async function extend(): Promise<void> {
    const askedAt = clock.now()
    try {
      await gateway.extend()
      goodUntil = askedAt + goodForMs
      if (!isDone) cancel = extendIn(goodForMs / 3)
    } catch (error) {
      if (isDone) return
      // Calls run under it, so one question that got lost is no reason to let it run out.
      if (isUnknown(error) || clock.now() >= goodUntil) return end()
      cancel = extendIn(Math.min(goodForMs / 15, goodUntil - clock.now()))
    }
  }

  function end(): void {
    done()
    onOver()
  }

  function done(): void {
    isDone = true
    cancel()
    onDone()
  }

  async function giveBack(): Promise<void> {
    if (isDone) return
    done()
    await gateway.giveBack()
  }

  function giveBackIfUnused(): void {
    // One that cannot be given back ends by itself.
    if (isRetired && open === 0) giveBack().catch(() => {})
  }

  return {
    gateway,
    hold() {
      open++
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        open--
        giveBackIfUnused()
      }
    },
    retire() {
      isRetired = true
      giveBackIfUnused()
    },
    giveBack,
  }
}

function isUnknown(error: unknown): boolean {
  return toAppError(error).code === 'NAME_UNKNOWN'
}
