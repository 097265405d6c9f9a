import { type Cancellation, type Clock, createCancellation } from '../../../core/kernel/index.ts'
import { SendFailure } from './channel.ts'
import { createGivenUp } from './given-up.ts'
import { RpcError } from './rpc-error.ts'
import type { Behind } from './session.ts'

/** A request of somebody that is under way. */
export interface UnderWay {
  readonly behind: Behind
  /** Aborts when nobody waits for it any more. */
  left(): AbortSignal
  /** It waits for something that does not come. */
  fail(why: SendFailure): void
}

/** Knows for whom a connection is at work, because what a server says in between does not tell. */
export interface BehindDesk {
  /**
   * Sees somebody's request through. An answer that comes after it was given up is to be told. It is cancelled with why it waits
   * in vain. Its owner may have given it time.
   */
  attend<T>(
    behind: Behind,
    request: (onLate: () => void, vain: Cancellation) => Promise<T>,
    givenMs?: number,
  ): Promise<T>
  /** The same, of what nobody is behind: the server is at work on it, but means nobody by what it says meanwhile. */
  attendOwn<T>(request: (onLate: () => void) => Promise<T>): Promise<T>
  /**
   * The requests that a server may mean, newest first, when all of them are one caller's. One that was given up is among
   * those it may mean for as long as it may be at work on it.
   */
  meant(): readonly UnderWay[] | 'several'
  /** All that are under way, whoever's they are, oldest first. */
  underWay(): readonly UnderWay[]
  /** Whether there is no more than one that it may mean. */
  isAlone(): boolean
  /** Whether there is none, not even of our own. */
  isAtRest(): boolean
  /** The server asks something; answers how to say that it has its answer. */
  asked(): () => void
  /** When it last waited for an answer: now, while it does. */
  owedAt(): number
  busy(): number
  /** Since when the oldest request is under way. */
  workingSince(): number | undefined
  /** The longest time that was given to any request that is under way; none where none was. */
  givenMs(): number
  /** When the last of them ended. */
  usedAt(): number
}

export function createBehindDesk(clock: Clock): BehindDesk {
  const underWay = new Map<Attended, number>()
  const givenUp = createGivenUp(clock)
  const own = createOwnRequests(clock)
  let used = clock.now()
  let questions = 0
  let owed = clock.now()

  function leave(request: Attended): void {
    underWay.delete(request)
    used = clock.now()
    request.leave()
    if (!request.isAnswered()) request.onAnswer(givenUp.add(request.behind.caller))
  }

  return {
    async attend(behind, send, givenMs = 0) {
      const request = createAttended(behind, givenMs)
      underWay.set(request, clock.now())
      try {
        const result = await send(request.answer, request.vain)
        request.answer()
        return result
      } catch (error) {
        if (!mayGoOn(error)) request.answer()
        throw error
      } finally {
        leave(request)
      }
    },
    attendOwn: own.attend,
    meant() {
      const requests = [...underWay.keys()].toReversed()
      const [newest] = requests
      if (!newest) return []
      const isOther = (caller: string) => caller !== newest.behind.caller
      const areSeveral = requests.some(({ behind }) => isOther(behind.caller)) || givenUp.callers().some(isOther)
      return areSeveral ? 'several' : requests
    },
    underWay: () => [...underWay.keys()],
    isAlone: () => underWay.size === 1 && givenUp.callers().length === 0,
    isAtRest: () => underWay.size === 0 && givenUp.callers().length === 0 && own.areDone(),
    asked() {
      questions++
      return () => {
        questions--
        owed = clock.now()
      }
    },
    owedAt: () => (questions > 0 ? clock.now() : owed),
    busy: () => underWay.size + own.count(),
    workingSince: () => earlier(underWay.values().next().value, own.since()),
    givenMs() {
      let longest = 0
      for (const request of underWay.keys()) longest = Math.max(longest, request.givenMs)
      return longest
    },
    usedAt: () => used,
  }
}

/** What we ask a server for ourselves, such as its lists. */
interface OwnRequests {
  attend: BehindDesk['attendOwn']
  count(): number
  /** Since when the oldest is under way. */
  since(): number | undefined
  /** Whether there is none, nor one that was given up and may be worked on. */
  areDone(): boolean
}

function createOwnRequests(clock: Clock): OwnRequests {
  const underWay = new Map<symbol, number>()
  const givenUp = createGivenUp(clock)
  return {
    async attend(send) {
      const request = Symbol('own')
      let isAnswered = false
      let answer = (): void => void (isAnswered = true)
      underWay.set(request, clock.now())
      try {
        return await send(() => answer())
      } catch (error) {
        if (mayGoOn(error) && !isAnswered) answer = givenUp.add(OURSELVES)
        throw error
      } finally {
        underWay.delete(request)
      }
    },
    count: () => underWay.size,
    since: () => underWay.values().next().value,
    areDone: () => underWay.size === 0 && givenUp.callers().length === 0,
  }
}

const OURSELVES = 'ourselves'

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

interface Attended extends UnderWay {
  readonly vain: Cancellation
  readonly givenMs: number
  leave(): void
  /** The server has answered it, and is at work on it no more. */
  answer(): void
  isAnswered(): boolean
  onAnswer(tell: () => void): void
}

function createAttended(behind: Behind, givenMs: number): Attended {
  // Most are never asked about, and a signal costs more than the rest of this.
  let controller: AbortController | undefined
  let hasLeft = false
  let isAnswered = false
  let tell = () => {}
  const vain = createCancellation()
  return {
    behind,
    vain,
    givenMs,
    fail: vain.cancel,
    left() {
      controller ??= new AbortController()
      if (hasLeft) controller.abort(LEFT)
      return controller.signal
    },
    leave() {
      hasLeft = true
      controller?.abort(LEFT)
    },
    answer() {
      if (isAnswered) return
      isAnswered = true
      tell()
    },
    isAnswered: () => isAnswered,
    onAnswer(listener) {
      tell = listener
    },
  }
}

const LEFT = new Error('Nobody waits for it any more.')

/** Whether a server may be at work on what ended so here: it was given up, or its answer got lost. */
function mayGoOn(error: unknown): boolean {
  if (error instanceof RpcError) return false
  return !(error instanceof SendFailure) || error.wasSent === 'maybe'
}
