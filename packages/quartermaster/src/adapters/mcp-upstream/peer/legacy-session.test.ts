import { expect, it } from 'vitest'
import type { Answer, Question } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { GATHER_MS } from './legacy-questions.ts'
import { createLegacySession, SUBSCRIBE_MS } from './legacy-session.ts'
import type { RequestOptions } from './peer.ts'

const FOREVER = new AbortController().signal
const asking = (signal = FOREVER) => ({ signal, delivery: Promise.resolve() })

/** A session in which one call is under way that never ends. */
function busySession(ask: (question: Question, signal?: AbortSignal) => Promise<Answer>) {
  const clock = createFakeClock()
  const line = bareLine({ request: () => new Promise(() => {}) })
  const { session, listener } = createLegacySession(line, factsOf(), { clock, events: NO_EVENTS })
  const canAnswer = { form: true, url: true, model: true, roots: true }
  void session.ask('tools/call', {}, { signal: FOREVER, behind: { caller: 'worker', canAnswer, ask, log() {} } })
  return { clock, session, serve: listener.serve }
}

it('passes on together what a server asks in quick succession', async () => {
  const asked: string[] = []
  const { clock, serve } = busySession(async question => {
    asked.push(`${question.kind ?? 'person'} at ${clock.now()}`)
    return { action: 'accept', content: {} }
  })
  const start = clock.now()
  const first = serve('elicitation/create', { message: 'Who?' }, asking())
  await clock.advance(GATHER_MS / 2)
  const second = serve('roots/list', {}, asking())
  await clock.advance(GATHER_MS / 2)
  await Promise.all([first, second])
  expect(asked).toEqual([`person at ${start + GATHER_MS}`, `roots at ${start + GATHER_MS}`])
})

it('asks nobody what the server no longer wants to know', async () => {
  const asked: Question[] = []
  const { clock, serve } = busySession(async question => {
    asked.push(question)
    return { action: 'accept' }
  })
  const controller = new AbortController()
  const answer = serve('elicitation/create', { message: 'Who?' }, asking(controller.signal))
  controller.abort()
  await expect(answer).rejects.toBe(controller.signal.reason)
  await clock.advance(GATHER_MS)
  expect(asked).toEqual([])
})

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

it('knows until when the server waited for an answer, also for one that did not come', async () => {
  const answers = [deferred<Answer>(), deferred<Answer>()]
  const left = [...answers]
  const { clock, session, serve } = busySession(() => left.shift()?.promise ?? Promise.reject(new Error('Nobody.')))
  const begun = clock.now()
  const asked = answers.map(() => serve('elicitation/create', { message: 'Who?' }, asking()))
  await clock.advance(60_000)
  expect(session.owedAt()).toBe(begun + 60_000)
  answers[0]?.resolve({ action: 'accept', content: {} })
  await asked[0]
  await clock.advance(60_000)
  expect(session.owedAt()).toBe(begun + 120_000)
  answers[1]?.reject(new Error('It took too long.'))
  await expect(asked[1]).rejects.toThrow()
  await clock.advance(60_000)
  expect(session.owedAt()).toBe(begun + 120_000)
})

it('says that nobody can name folders, rather than that there are none, when nobody is calling', async () => {
  const line = bareLine({})
  const { listener } = createLegacySession(line, factsOf(), { clock: createFakeClock(), events: NO_EVENTS })
  await expect(listener.serve('roots/list', {}, asking())).rejects.toThrow('The folders are unknown now.')
})

it('answers a ping, and names no folders of a caller when it may be another one who is meant', async () => {
  const line = bareLine({ request: () => new Promise(() => {}) })
  const { session, listener } = createLegacySession(line, factsOf(), { clock: createFakeClock(), events: NO_EVENTS })
  expect(await listener.serve('ping', {}, asking())).toEqual({})
  const canAnswer = { form: true, url: true, model: true, roots: true }
  const ask = async (): Promise<Answer> => ({ action: 'accept', content: { roots: [{ uri: 'file:///private' }] } })
  for (const caller of ['worker one', 'worker two'])
    void session.ask('tools/call', {}, { signal: FOREVER, behind: { caller, canAnswer, ask, log() {} } })
  await expect(listener.serve('roots/list', {}, asking())).rejects.toThrow('The folders are unknown now.')
})

it('is at work while it lists or subscribes for us, and may be on what was given up until it is answered', async () => {
  const sent: RequestOptions[] = []
  const request = (_method: string, _params: Params, options: RequestOptions) => {
    sent.push(options)
    return untilAborted(options.signal)
  }
  const clock = createFakeClock()
  const line = bareLine({ request })
  const { session } = createLegacySession(line, factsOf(), { clock, events: NO_EVENTS })
  const standing = () => [session.isAtRest(), session.busy(), session.workingSince()]
  const begun = clock.now()
  expect(standing()).toEqual([true, 0, undefined])
  const controller = new AbortController()
  const listed = session.page('tools', undefined, controller.signal)
  session.watch(new Set(['desk://a']))
  expect(standing()).toEqual([false, 2, begun])
  controller.abort()
  await expect(listed).rejects.toThrow()
  await clock.advance(SUBSCRIBE_MS)
  expect(standing()).toEqual([false, 0, undefined])
  for (const { onLate } of sent) onLate?.()
  expect(standing()).toEqual([true, 0, undefined])
})
