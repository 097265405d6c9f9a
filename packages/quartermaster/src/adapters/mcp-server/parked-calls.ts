import { type Answer, AppError, type CallAnswer, type Progress, type Question } from '../../contracts/index.ts'
import type { Clock, Ids } from '../../core/kernel/index.ts'

/** Where a call stands when a client is answered: done, or waiting for its person. */
export type Round = { readonly answer: CallAnswer } | { readonly question: Question; readonly parkedId: string }

/** What makes sure that only the same caller goes on with the same call. */
export interface ParkedOwner {
  readonly caller: string
  readonly tool: string
  /** The arguments, as they were given. */
  readonly input: string
}

/** The request that waits for this round of the call. */
export interface Waiting {
  readonly signal: AbortSignal
  readonly onProgress: ((progress: Progress) => void) | undefined
}

type StartCall = (options: {
  signal: AbortSignal
  onProgress: (progress: Progress) => void
  ask: (question: Question) => Promise<Answer>
}) => Promise<CallAnswer>

/**
 * Calls that asked something and wait for the answer. In MCP the answer comes as a repeat of the request; it joins the
 * call that is waiting and never starts a second one.
 */
export interface ParkedCalls {
  start(owner: ParkedOwner, waiting: Waiting, call: StartCall): Promise<Round>
  /** Goes on with a parked call. Throws `CURSOR_GONE` when there is none for this owner. */
  resume(parkedId: string, owner: ParkedOwner, waiting: Waiting, answer: Answer): Promise<Round>
  stop(): void
}

/** How long a person may take. */
export const PARKED_SECONDS = 600
/** How many may wait at once, for all callers together; each holds a running handler. */
const MOST_PARKED = 1_000

interface Parked {
  readonly owner: ParkedOwner
  readonly controller: AbortController
  readonly done: Promise<CallAnswer>
  /** The next question, or nothing while the call runs. */
  asked: Deferred<Question>
  reply: ((answer: Answer) => void) | undefined
  /** Where progress goes: to the request that waits now, if any. */
  onProgress: Waiting['onProgress']
  cancelExpiry: () => void
}

interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
}

export function createParkedCalls({ clock, ids }: { clock: Clock; ids: Ids }): ParkedCalls {
  const parked = new Map<string, Parked>()

  /** Follows the call to its end or its next question, for as long as this client waits. */
  async function follow(id: string, call: Parked, { signal, onProgress }: Waiting): Promise<Round> {
    const abort = () => call.controller.abort(signal.reason)
    call.onProgress = onProgress
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    try {
      const round = await Promise.race([
        call.done.then(answer => ({ answer })),
        call.asked.promise.then(question => ({ question, parkedId: id })),
      ])
      if ('question' in round) wait(id, call)
      return round
    } finally {
      call.onProgress = undefined
      signal.removeEventListener('abort', abort)
    }
  }

  function wait(id: string, call: Parked): void {
    call.asked = deferred()
    parked.set(id, call)
    call.cancelExpiry = clock.after(PARKED_SECONDS * 1000, () => {
      parked.delete(id)
      call.controller.abort(new AppError('DEADLINE_EXCEEDED', `Nobody answered within ${PARKED_SECONDS} s.`))
    })
  }

  return {
    start(owner, waiting, begin) {
      if (parked.size >= MOST_PARKED) {
        return Promise.reject(
          new AppError('LIMIT_EXCEEDED', `${MOST_PARKED} calls wait for answers already. Answer those first.`),
        )
      }
      const call = createParked(owner, begin)
      return follow(ids.next('ask'), call, waiting)
    },
    resume(id, owner, waiting, answer) {
      const call = parked.get(id)
      const isOwner =
        call?.owner.caller === owner.caller && call.owner.tool === owner.tool && call.owner.input === owner.input
      if (!call || !isOwner) {
        return Promise.reject(new AppError('CURSOR_GONE', 'The question is no longer open. Call the tool again.'))
      }
      parked.delete(id)
      call.cancelExpiry()
      call.reply?.(answer)
      return follow(id, call, waiting)
    },
    stop() {
      for (const call of parked.values()) {
        call.cancelExpiry()
        call.controller.abort(new AppError('STOPPING', 'Quartermaster is stopping.'))
      }
      parked.clear()
    },
  }
}

function createParked(owner: ParkedOwner, begin: StartCall): Parked {
  const controller = new AbortController()
  const ask = (question: Question) =>
    new Promise<Answer>(resolve => {
      call.reply = resolve
      call.asked.resolve(question)
    })
  const onProgress = (progress: Progress) => call.onProgress?.(progress)
  // A microtask later, so that a handler which asks at once finds its call.
  const done = Promise.resolve().then(() => begin({ signal: controller.signal, ask, onProgress }))
  // Whoever follows takes the rejection; while parked nobody does.
  done.catch(() => {})
  const cancelExpiry = () => {}
  const call: Parked = {
    owner,
    controller,
    done,
    asked: deferred(),
    reply: undefined,
    onProgress: undefined,
    cancelExpiry,
  }
  return call
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>(settle => {
    resolve = settle
  })
  return { promise, resolve: value => resolve(value) }
}
