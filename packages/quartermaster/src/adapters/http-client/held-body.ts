import type { BodyReader, HttpBody } from './http-answer.ts'

/** What holds back the connection that a body comes over. */
export interface Flow {
  pause(): void
  resume(): void
}

/** A body that keeps what comes until somebody reads it. */
export interface HeldBody extends HttpBody {
  take(chunk: Buffer): void
  finish(): void
  fail(cause: Error): void
}

/** What may wait for a reader; a short answer is all there before anybody can have asked for it. */
const HELD_BYTES = 64 * 1024

export function createHeldBody(flow: Flow, giveUp: () => void): HeldBody {
  let held: Buffer[] = []
  let heldBytes = 0
  let reader: BodyReader | undefined
  let isPaused = false
  let isFlowing = true
  let tellEnd: ((reader: BodyReader) => void) | undefined

  const isRead = () => reader !== undefined && !isPaused

  function hold(chunk: Buffer): void {
    held.push(chunk)
    heldBytes += chunk.length
    if (!isFlowing || heldBytes < HELD_BYTES) return
    isFlowing = false
    flow.pause()
  }

  /** Hands over what was held, as far as the reader lets us. */
  function release(): void {
    while (isRead()) {
      const chunk = held.shift()
      if (!chunk) break
      heldBytes -= chunk.length
      reader?.onData(chunk)
    }
    if (!isRead()) return
    if (tellEnd) end(tellEnd)
    else if (!isFlowing) {
      isFlowing = true
      flow.resume()
    }
  }

  function end(tell: (reader: BodyReader) => void): void {
    tellEnd = tell
    if (!reader || isPaused || held.length > 0) return
    const last = reader
    reader = undefined
    tell(last)
  }

  return {
    take(chunk) {
      if (reader && !isPaused && held.length === 0) reader.onData(chunk)
      else hold(chunk)
    },
    finish: () => end(last => last.onEnd()),
    fail: cause => end(last => last.onFail(cause)),
    read(given) {
      reader = given
      release()
    },
    pause() {
      isPaused = true
      if (!isFlowing || tellEnd) return
      isFlowing = false
      flow.pause()
    },
    resume() {
      isPaused = false
      release()
    },
    destroy() {
      reader = undefined
      held = []
      if (!tellEnd) giveUp()
    },
  }
}
