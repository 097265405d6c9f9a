import { expect, it } from 'vitest'
import type { Answer, Question } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { GATHER_MS } from './legacy-questions.ts'
import { createLegacySession } from './legacy-session.ts'

const FOREVER = new AbortController().signal
const asking = (signal = FOREVER) => ({ signal, delivery: Promise.resolve() })

/** A session in which one call is under way that never ends. */
function busySession(ask: (question: Question, signal?: AbortSignal) => Promise<Answer>) {
  const clock = createFakeClock()
  const line = bareLine({ request: () => new Promise(() => {}) })
  const { session, listener } = createLegacySession(line, factsOf(), { clock, events: NO_EVENTS })
  const canAnswer = { form: true, url: true, model: true, roots: true }
  void session.ask('tools/call', {}, { signal: FOREVER, requester: { caller: 'worker', canAnswer, ask, log() {} } })
  return { clock, session, serve: listener.serve }
}

it('takes back what is being asked when the server cancels it', async () => {
  const asked = deferred<AbortSignal | undefined>()
  const { clock, serve } = busySession((_question, signal) => {
    asked.resolve(signal)
    return new Promise(() => {})
  })
  const controller = new AbortController()
  const answer = serve('elicitation/create', { message: 'Who?' }, asking(controller.signal))
  answer.catch(() => {})
  await clock.advance(GATHER_MS)
  const signal = await asked.promise
  expect(signal?.aborted).toBe(false)
  controller.abort()
  expect(signal?.aborted).toBe(true)
  await expect(answer).rejects.toBe(controller.signal.reason)
})
