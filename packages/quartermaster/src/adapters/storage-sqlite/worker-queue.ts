import type { Worker } from 'node:worker_threads'
import type { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Group } from '../storage-sql/index.ts'
import { closed, givenUp, overloaded, unanswered, undone, unknownOutcome } from './errors.ts'
import type { Answer, Fault, FromWorker, ToWorker, Work } from './protocol.ts'
import { toFault } from './protocol.ts'

/** Requests to one worker. */
export interface WorkerQueue {
  ask(work: Work): Promise<Answer>
  waiting(): number
  restarts(): number
  /** Refuses new requests, finishes the queued ones, and ends the worker; after `others`, if given. */
  close(others?: Promise<void>): Promise<void>
}

export interface WorkerQueueOptions {
  readonly name: string
  readonly start: () => Worker
  readonly log: Log
  /** The error for a worker that reports it cannot work. */
  readonly refusal: (fault: Fault) => AppError
  readonly onGroup?: (group: Group) => void
  /** Requests that may wait; more are refused. */
  readonly mostWaiting: number
}

interface Pending {
  readonly id: number
  readonly work: Work
  resolve(answer: Answer): void
  reject(error: AppError): void
}

/** Requests sent to the worker at a time. Those not sent yet survive its death. */
const WINDOW = 1_024

/**
 * Sends requests to a worker, which starts with the first of them. When it dies, the requests it had fail and a new worker takes
 * over. A worker that dies before its first answer would die again, so the queue then fails permanently.
 */
export function createWorkerQueue({
  name,
  start,
  log,
  refusal,
  onGroup,
  mostWaiting,
}: WorkerQueueOptions): WorkerQueue {
  const queue: Pending[] = []
  const sent = new Map<number, Pending>()
  let worker: Worker | undefined
  let hasAnswered = false
  let failure: AppError | undefined
  let isScheduled = false
  let nextId = 0
  let restarts = 0
  let ending: Promise<void> | undefined
  let onIdle: (() => void) | undefined

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    // Requests of the same event-loop turn share a message.
    queueMicrotask(() => {
      isScheduled = false
      send()
    })
  }

  function send(): void {
    const batch = queue.splice(0, WINDOW - sent.size)
    if (batch.length === 0) return
    for (const pending of batch) sent.set(pending.id, pending)
    try {
      const running = (worker ??= begin())
      running.ref()
      post(running, { kind: 'requests', requests: batch.map(({ id, work }) => ({ id, ...work })) })
    } catch (error) {
      // The thread could not be started, for lack of memory.
      giveUp(givenUp(error))
    }
  }

  function begin(): Worker {
    const started = start()
    hasAnswered = false
    started.on('message', (message: FromWorker) => (message.kind === 'answers' ? take(message) : refuse(message.fault)))
    started.on('error', error => end(started, error))
    started.on('exit', code => end(started, new Error(`its thread ended with exit code ${code}`)))
    return started
  }

  function take({ answers, group }: Extract<FromWorker, { kind: 'answers' }>): void {
    hasAnswered = true
    if (group) onGroup?.(group)
    for (const answer of answers) {
      const pending = sent.get(answer.id)
      sent.delete(answer.id)
      if ('fault' in answer) pending?.reject(answer.isUnknown ? unknownOutcome(answer.fault) : undone(answer.fault))
      else pending?.resolve(answer)
    }
    if (queue.length > 0) schedule()
    else if (sent.size === 0) rest()
  }

  /** An idle worker does not keep the process alive. */
  function rest(): void {
    worker?.unref()
    onIdle?.()
  }

  function refuse(fault: Fault): void {
    failure = refusal(fault)
  }

  function end(ended: Worker, cause: unknown): void {
    if (ended !== worker) return
    worker = undefined
    // A worker that reports it cannot work has done nothing; how far any other came is unknown.
    if (failure) return giveUp(failure)
    const lost = takeSent()
    const fault = toFault(cause)
    for (const { work, reject } of lost) reject(work.kind === 'commit' ? unknownOutcome(fault) : unanswered(fault))
    if (!hasAnswered) return giveUp(givenUp(cause))
    restarts++
    log.error('A thread of the store died and is replaced', { thread: name, lost: lost.length, restarts })
    if (queue.length > 0) schedule()
    else rest()
  }

  function giveUp(error: AppError): void {
    failure = error
    log.error('The store has stopped', { thread: name, reason: error.message })
    for (const pending of [...takeSent(), ...queue.splice(0)]) pending.reject(error)
    rest()
  }

  function takeSent(): readonly Pending[] {
    const pendings = [...sent.values()]
    sent.clear()
    return pendings
  }

  async function drainAndEnd(others: Promise<void> | undefined): Promise<void> {
    if (sent.size > 0 || queue.length > 0) await new Promise<void>(resolve => (onIdle = resolve))
    await others
    const last = worker
    if (!last) return
    worker = undefined
    last.ref()
    const hasEnded = new Promise(resolve => last.once('exit', resolve))
    post(last, { kind: 'close' })
    await hasEnded
  }

  return {
    ask(work) {
      if (ending) return Promise.reject(closed())
      if (failure) return Promise.reject(failure)
      if (queue.length >= mostWaiting) return Promise.reject(overloaded(queue.length))
      schedule()
      return new Promise((resolve, reject) => queue.push({ id: nextId++, work, resolve, reject }))
    },
    waiting: () => queue.length + sent.size,
    restarts: () => restarts,
    close: others => (ending ??= drainAndEnd(others)),
  }
}

function post(worker: Worker, message: ToWorker): void {
  worker.postMessage(message, [])
}
