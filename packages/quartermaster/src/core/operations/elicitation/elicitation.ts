import { type Answer, AppError, type Progress, type Question, toAppError } from '../../../contracts/index.ts'
import {
  type Cancel,
  type CancelSignal,
  type Clock,
  createCancellation,
  createInFlight,
  type Ids,
  type Log,
} from '../../kernel/index.ts'

/** The context of work that may ask its client something while it runs. */
export interface ElicitationContext {
  readonly signal: CancelSignal
  readonly onProgress: NonNullable<CallListeners['onProgress']>
  readonly onLog: NonNullable<CallListeners['onLog']>
  /** The operation is recorded from now on, under this id. */
  onRecorded(operationId: string): void
  /** Whether the result was delivered; `undefined` while a client may still come for it. */
  isDelivered(): boolean | undefined
  /** The signal withdraws the question. */
  ask(question: Question, signal?: CancelSignal): Promise<Answer>
}

/** The response to the client of an elicitation: the result, or questions. */
export type Turn<T> = { readonly answer: T } | { readonly questions: ReadonlyMap<string, Question> }

/** Work that may ask its client questions. The client may come back with another request for each turn; the work continues. */
export interface Elicitation<T> {
  /** Made on first use: most work asks nothing, and no client has to come back for it. */
  id(): string
  /** The id of its operation, where it is recorded. */
  operationId(): string | undefined
  readonly done: Promise<T>
  /** The open questions, by key. */
  questions(): ReadonlyMap<string, Question>
  /** Grows whenever a question is asked, answered or withdrawn: while it is the same, so are the open questions. */
  version(): number
  /** Resolves when the question with this key is closed, for whatever reason. */
  closed(key: string): Promise<void>
  /** These are shown to the client now, which some questions need before they can be answered. */
  show(questions: ReadonlyMap<string, Question>): void
  /** Answers open questions. Answers to other keys are ignored. */
  answer(answers: Readonly<Record<string, Answer>>): void
  /** The result or the next questions, whichever comes first. An abort of the signal cancels the work. */
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

/** The key of a question whose tool gives none. */
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
  // Made on first use: most work asks nothing.
  let unused: Map<string, Answer> | undefined
  let shown: WeakSet<Question> | undefined
  /** Clients that wait for a turn now. */
  const waiting = new Set<() => void>()
  let isGathering = false
  let takenBack = 0
  let version = 0
  let heardBy: CallListeners = {}
  /** The client that got the result. */
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
    // A late answer to a withdrawn question must not pass for one to this question.
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

  /** Sends questions that are asked at the same time together. */
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
  // A microtask later, so that work which asks immediately finds its elicitation.
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
          // Events between two turns are reported to no client.
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

/** A question until it is answered or withdrawn. */
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

/** How long a person may take to answer. */
export const ANSWER_SECONDS = 600
/** How long the result can be fetched again. */
export const REPEAT_SECONDS = 60
/** Open elicitations of one credential; each holds a running handler. */
export const MOST_WAITING = 100
/** How often one call may ask; several questions at the same time count once. */
export const MOST_ROUNDS = 50

/** The elicitations of all clients. */
export interface Elicitations {
  /** The holder is the credential it was asked for with: when that is taken back, so is the work. */
  start<T>(options: Pick<ElicitationOptions<T>, 'begin' | 'early'> & { holder?: string | undefined }): Elicitation<T>
  /**
   * Lets it go on whatever becomes of the credential: it belongs to the agent now. What it asks from here on is asked
   * elsewhere, so an answer that comes here is to a question that is over.
   */
  release(elicitation: Elicitation<unknown>): void
  /** Cancels all elicitations of a revoked credential. */
  end(holder: string): void
  /**
   * Keeps it until its client comes back with answers. The owner is a text that says who asked for what, so that no other
   * client can go on with it. Returns the number of the round, which the client brings back with its answers, and when it was
   * asked.
   */
  park(elicitation: Elicitation<unknown>, by: { owner: string; holder: string }): Asked
  /**
   * The exchange its owner was asked in: waiting, running again, or just ended, with what the client brought handed over. A
   * client that lost an answer may bring the same once more. Throws `CURSOR_GONE` when there is no such exchange or it has
   * gone on since that round, `REQUEST_REFUSED` when the client had said something else before.
   */
  resume<T>(id: string, owner: string, brought: Brought): Elicitation<T>
  /** Whether an elicitation whose client was asked something is still here. */
  has(id: string): boolean
  /** The same, only for its owner. */
  of(id: string, owner: string): Elicitation<unknown> | undefined
  /** Resolves when what a client was asked under this key is not asked any more: it is answered, taken back, or the work over. */
  closed(id: string, key: string): Promise<void>
  cancel(id: string, reason: AppError): void
  stop(): void
}

/** A round in which a client was asked something. */
export interface Asked {
  readonly round: number
  readonly askedAt: number
}

/** The answers that a client comes back with. */
interface Brought {
  /** The round in which it was asked. */
  readonly round: number
  /** What it says, by key: a text that is the same for the same answer. */
  readonly said: ReadonlyMap<string, string>
  /** The answers among it to what is being asked. */
  answersTo(questions: ReadonlyMap<string, Question>): Readonly<Record<string, Answer>>
}

/** An exchange whose client was asked something, until a while after its end. */
interface Known {
  readonly elicitation: Elicitation<unknown>
  readonly owner: string
  /** How often its client was asked, what stood open the last time, and when that was. */
  round: number
  asked: number
  askedAt: number
  /** The last round that the client has come back from, and what of it was taken. */
  seen: number
  taken: ReadonlyMap<string, string>
  hasEnded: boolean
  /** Gives back its place among what the credential may leave open. */
  leave(): void
  cancelTimer: Cancel
}

export function createElicitations({ clock, ids }: { clock: Clock; ids: Ids }): Elicitations {
  const known = new Map<string, Known>()
  const places = createInFlight({ most: MOST_WAITING, what: 'questions open' })
  const held = createHeldExchanges()
  const newId = () => ids.next('ask')

  function arm(one: Known, seconds: number, task: () => void): void {
    one.cancelTimer()
    one.cancelTimer = clock.after(seconds * 1000, task)
  }

  /** Remembers it from its first question on. */
  function remember(elicitation: Elicitation<unknown>, { owner, holder }: { owner: string; holder: string }): Known {
    const leave = placeFor(elicitation, holder)
    const one: Known = { elicitation, owner, ...UNASKED, hasEnded: false, leave, cancelTimer: () => {} }
    known.set(elicitation.id(), one)
    const end = () => {
      one.hasEnded = true
      keepEnd(one)
    }
    elicitation.done.then(end, end)
    return one
  }

  /**
   * The result is kept for a moment: a client whose connection broke asks for it again. A client that has not come back yet,
   * because its person still thinks about what others have decided, keeps its full time.
   */
  function keepEnd(one: Known): void {
    const isAwaited = one.seen < one.round
    const leftSeconds = isAwaited ? ANSWER_SECONDS - (clock.now() - one.askedAt) / 1000 : 0
    if (!isAwaited) one.leave()
    arm(one, Math.max(REPEAT_SECONDS, leftSeconds), () => {
      one.leave()
      one.elicitation.leave()
      known.delete(one.elicitation.id())
    })
  }

  function placeFor(elicitation: Elicitation<unknown>, holder: string): () => void {
    try {
      return places.enter(holder)
    } catch (error) {
      elicitation.leave()
      elicitation.cancel(toAppError(error))
      throw error
    }
  }

  return {
    start({ holder, begin, early }) {
      const elicitation = createElicitation({ newId, clock, begin, early })
      if (holder !== undefined) held.add(elicitation, holder)
      return elicitation
    },
    release(elicitation) {
      held.release(elicitation)
      const one = known.get(elicitation.id())
      if (!one) return
      one.leave()
      one.cancelTimer()
      one.round++
    },
    end: held.end,
    park(elicitation, by) {
      const one = known.get(elicitation.id()) ?? remember(elicitation, by)
      // A client that is asked the same again, because an answer got lost, is asked in the same round.
      if (one.asked !== elicitation.version()) one.round++
      one.asked = elicitation.version()
      one.askedAt = clock.now()
      const asked = { round: one.round, askedAt: Math.round(one.askedAt) }
      if (one.hasEnded) return asked
      arm(one, ANSWER_SECONDS, () =>
        elicitation.cancel(new AppError('DEADLINE_EXCEEDED', `No answer within ${ANSWER_SECONDS} s.`)),
      )
      return asked
    },
    resume<T>(id: string, owner: string, brought: Brought) {
      const one = known.get(id)
      if (one?.owner !== owner)
        throw new AppError('CURSOR_GONE', 'The question is no longer open, and what became of it is not known here.')
      refuseReplay(one, brought)
      const isBack = brought.round > one.seen
      // After the end the timer is what removes the entry.
      if (!one.hasEnded) one.cancelTimer()
      handOver(one, brought)
      if (one.hasEnded && isBack) keepEnd(one)
      // The owner says what was asked for, and so what comes back.
      return one.elicitation as Elicitation<T>
    },
    has: id => known.has(id),
    of(id, owner) {
      const one = known.get(id)
      return one?.owner === owner ? one.elicitation : undefined
    },
    async closed(id, key) {
      await known.get(id)?.elicitation.closed(key)
    },
    cancel: (id, reason) => known.get(id)?.elicitation.cancel(reason),
    stop() {
      for (const { elicitation, cancelTimer } of known.values()) {
        cancelTimer()
        elicitation.cancel(new AppError('STOPPING', 'Quartermaster is stopping.'))
      }
      known.clear()
    },
  }
}

const UNASKED = { round: 0, asked: 0, askedAt: 0, seen: 0, taken: new Map<string, string>() } as const

/** The same once more is a client's that lost an answer. Anything else about a question that was answered comes too late. */
function refuseReplay({ seen, taken }: Known, { round, said }: Brought): void {
  if (round < seen)
    throw new AppError(
      'CURSOR_GONE',
      'The call has gone on since. Go on with the state that came with the last answer.',
    )
  if (round > seen) return
  const other = [...taken].find(([key, text]) => said.has(key) && said.get(key) !== text)
  if (other)
    throw new AppError('REQUEST_REFUSED', `"${other[0]}" was answered otherwise before, and the first answer counts.`)
}

/** Answers to what was asked before must not pass for answers to what is asked now. */
function handOver(one: Known, { round, said, answersTo }: Brought): void {
  if (round > one.seen) Object.assign(one, { seen: round, taken: new Map() })
  if (round !== one.round) return
  const answers = answersTo(one.elicitation.questions())
  one.taken = new Map([...one.taken, ...[...said].filter(([key]) => Object.hasOwn(answers, key))])
  one.elicitation.answer(answers)
}

/** Which token each is asked for with. Tokens are seldom taken back, and calls come and go: so all are looked through then. */
function createHeldExchanges() {
  const holders = new Map<Elicitation<unknown>, string>()
  return {
    add(elicitation: Elicitation<unknown>, holder: string): void {
      holders.set(elicitation, holder)
      const forget = () => holders.delete(elicitation)
      elicitation.done.then(forget, forget)
    },
    release: (elicitation: Elicitation<unknown>) => void holders.delete(elicitation),
    end(holder: string): void {
      const revoked = new AppError('TOKEN_INVALID', 'The token this was asked for with has been taken back.')
      const own = [...holders].filter(([, by]) => by === holder)
      for (const [elicitation] of own) {
        elicitation.leave()
        elicitation.cancel(revoked)
      }
    },
  }
}
