import type { Answer, AppError, Progress, Question } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, createCancellation, type Log } from '../../kernel/index.ts'

/** What work is given that may ask something while it runs. */
export interface ElicitationContext {
  readonly signal: CancelSignal
  readonly onProgress: NonNullable<CallListeners['onProgress']>
  readonly onLog: NonNullable<CallListeners['onLog']>
  /** It is on record from now on, under this id. */
  onRecorded(operationId: string): void
  /** Whether the result was delivered; `undefined` while a client may still come for it. */
  isDelivered(): boolean | undefined
  /** The signal takes the question back: its answer is not wanted any more. */
  ask(question: Question, signal?: CancelSignal): Promise<Answer>
}

/** Where an exchange stands when its client is answered: done, or waiting for answers. */
export type Turn<T> = { readonly answer: T } | { readonly questions: ReadonlyMap<string, Question> }

/**
 * Work that may ask questions, seen from the client: it runs, asks, waits for the answers and goes on. The client may
 * come back for each turn with another request; the work is the same.
 */
export interface Elicitation<T> {
  /** Made when first asked for: most work asks nothing, and no client has to come back to it. */
  id(): string
  /** Under which id it is on record, where it is. */
  operationId(): string | undefined
  /** How the work ends. */
  readonly done: Promise<T>
  /** What is being asked now, by key. */
  questions(): ReadonlyMap<string, Question>
  /** Grows whenever something is asked, answered or taken back: while it is the same, so is what is being asked. */
  version(): number
  /** Resolves when the question under this key is not asked any more, for whatever reason. */
  closed(key: string): Promise<void>
  /** A client is shown these now, and can answer questions that have to be shown first. */
  show(questions: ReadonlyMap<string, Question>): void
  /** Hands over answers. Answers to other keys are ignored, and unanswered questions stay open. */
  answer(answers: Readonly<Record<string, Answer>>): void
  /** The end or the next questions, whichever comes first. The work is cancelled when the signal aborts meanwhile. */
  turn(signal: CancelSignal, listeners?: CallListeners): Promise<Turn<T>>
  cancel(reason: AppError): void
  /** No client will come for another turn. */
  leave(): void
}

export interface ElicitationOptions<T> {
  newId(): string
  readonly clock: Clock
  begin(context: ElicitationContext): Promise<T>
  /** Answers that came with the request, before anything was asked. */
  readonly early?: Readonly<Record<string, Answer>> | undefined
}

/** Upper bound on event-loop turns spent batching questions asked at the same time. */
const MOST_TURNS = 16

/** What a question is filed under when its tool does not say. */
const DEFAULT_KEY = 'answer'

interface OpenQuestion {
  readonly question: Question
  readonly answered: Promise<Answer>
  reply(answer: Answer): void
}

/** Starts the work. */
export function createElicitation<T>({ newId, clock, begin, early = {} }: ElicitationOptions<T>): Elicitation<T> {
  const cancellation = createCancellation()
  const open = new Map<string, OpenQuestion>()
  // These are made when something is asked, which most work never does.
  let unused: Map<string, Answer> | undefined
  let shown: WeakSet<Question> | undefined
  /** Clients that take a turn now. */
  const waiting = new Set<() => void>()
  let isGathering = false
  let takenBack = 0
  let version = 0
  let heardBy: CallListeners = {}
  /** Who got the end. */
  let taker: CallListeners | undefined
  let isLeft = false
  let operationId: string | undefined
  let id: string | undefined

  const close = () => {
    // A `Map` reallocates when cleared, even when empty.
    if (open.size > 0) open.clear()
  }

  function ask(question: Question, signal?: CancelSignal): Promise<Answer> {
    const wanted = question.key ?? DEFAULT_KEY
    unused ??= new Map(Object.entries(early))
    const known = unused.get(wanted)
    if (known && !isShownFirst(question)) {
      unused.delete(wanted)
      return Promise.resolve(known)
    }
    if (signal?.aborted) return Promise.reject(signal.reason)
    // An answer to what was taken back may still come, and must not pass for one to what is asked now.
    const key = freeKey(takenBack === 0 ? wanted : `${wanted}-after-${takenBack}`, open)
    const asked = openQuestion(question, signal, () => {
      const isOpen = open.delete(key)
      if (isOpen) {
        takenBack++
        version++
      }
      return isOpen
    })
    open.set(key, asked)
    version++
    void gather()
    return asked.answered
  }

  /** Questions that are asked at the same time go out together; those of another process come one after the other. */
  async function gather(): Promise<void> {
    if (isGathering) return
    isGathering = true
    for (let turns = 0, seen = -1; seen !== version && turns < MOST_TURNS; turns++) {
      seen = version
      await clock.breathe()
    }
    isGathering = false
    if (open.size > 0) for (const tell of [...waiting]) tell()
  }

  const questions = (): ReadonlyMap<string, Question> => new Map([...open].map(([key, one]) => [key, one.question]))
  // A microtask later, so that work which asks at once finds its exchange.
  const done = Promise.resolve().then(() =>
    begin({
      signal: cancellation.signal,
      ask,
      onProgress: progress => heardBy.onProgress?.(progress),
      onLog: (...line) => heardBy.onLog?.(...line),
      onRecorded(given) {
        operationId = given
      },
      isDelivered() {
        const listener = taker ?? (waiting.size > 0 ? heardBy : undefined)
        if (listener) return !listener.isGone?.()
        return isLeft ? false : undefined
      },
    }),
  )
  // A client that takes a turn handles the rejection; between two turns nothing does.
  done.then(close, close)

  return {
    id() {
      id ??= newId()
      return id
    },
    operationId: () => operationId,
    done,
    questions,
    version: () => version,
    closed: key => Promise.race([done, open.get(key)?.answered]).then(NOTHING, NOTHING),
    show(questions) {
      shown ??= new WeakSet()
      for (const question of questions.values()) shown.add(question)
    },
    answer(answers) {
      for (const [key, answer] of Object.entries(answers)) {
        const asked = open.get(key)
        if (!asked || (isShownFirst(asked.question) && !shown?.has(asked.question))) continue
        open.delete(key)
        version++
        asked.reply(answer)
      }
    },
    turn(signal, listeners = {}) {
      heardBy = listeners
      if (open.size > 0 && !isGathering) return Promise.resolve({ questions: questions() })
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(tell)
          // The waiting client is gone; what happens between two turns is reported to no client.
          if (heardBy === listeners) heardBy = {}
          signal.removeEventListener('abort', abort)
        }
        const tell = () => {
          leave()
          resolve({ questions: questions() })
        }
        const abort = () => {
          leave()
          // A client that repeated its request still waits for the work when the first connection is noticed to be gone.
          if (waiting.size > 0) return
          isLeft = true
          cancellation.cancel(signal.reason)
        }
        const take = () => {
          if (waiting.has(tell)) taker = listeners
          leave()
        }
        const end = (answer: T) => (take(), resolve({ answer }))
        const fail = (error: unknown) => (take(), reject(error))
        waiting.add(tell)
        isLeft = false
        done.then(end, fail)
        if (signal.aborted) abort()
        else signal.addEventListener('abort', abort, { once: true })
      })
    },
    cancel: cancellation.cancel,
    leave() {
      isLeft = true
    },
  }
}

const NOTHING = () => {}

/** Whether an answer is valid only from a client that was shown the question. */
function isShownFirst(question: Question): boolean {
  return 'shownFirst' in question && question.shownFirst === true
}

/** A question until its answer comes, or until it is taken back, if it still can be. */
function openQuestion(question: Question, signal: CancelSignal | undefined, takeBack: () => boolean): OpenQuestion {
  let reply: OpenQuestion['reply'] = NOTHING
  const answered = new Promise<Answer>((resolve, reject) => {
    const withdraw = () => takeBack() && reject(signal?.reason)
    signal?.addEventListener('abort', withdraw, { once: true })
    reply = answer => {
      signal?.removeEventListener('abort', withdraw)
      resolve(answer)
    }
  })
  return { question, answered, reply }
}

function freeKey(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  let key = wanted
  for (let number = 2; taken.has(key); number++) key = `${wanted}-${number}`
  return key
}

export type LogLevel = keyof Log

/** Receives what happens during a call: progress and log lines for the client that waits now. */
export interface CallListeners {
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** What the tool writes to its log, for a client that wants to see it. */
  readonly onLog?: ((level: LogLevel, message: string, fields?: Record<string, unknown>) => void) | undefined
  /** Whether it went away before it got its answer. */
  readonly isGone?: (() => boolean) | undefined
}
