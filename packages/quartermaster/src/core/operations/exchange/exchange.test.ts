import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { type Answer, AppError, type Question } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type CancelSignal, createCancellation } from '../../kernel/index.ts'
import { createExchange, type ExchangeContext } from './exchange.ts'
import { ANSWER_SECONDS, createExchanges, MOST_WAITING } from './exchanges.ts'

const YES: Answer = { action: 'accept', content: { sure: true } }
/** Nobody leaves. One for many who wait at the same time, so not an `AbortSignal`, which warns of more than ten. */
const still = createCancellation().signal

function start<T>(begin: (context: ExchangeContext) => Promise<T>, early: Record<string, Answer> = {}) {
  return createExchange({ newId: () => 'ask_1', clock: createFakeClock(), begin, early })
}

const NOTHING = { round: 1, said: new Map(), answersTo: () => ({}) }

describe('an exchange', () => {
  it('ends in one turn when nothing is asked', async () => {
    const exchange = start(async () => 'done')
    expect(await exchange.turn(still)).toEqual({ answer: 'done' })
  })

  it('asks at once what is asked at the same time, and goes on when all of it is answered', async () => {
    const exchange = start(async ({ ask }) => {
      const answers = await Promise.all([
        ask({ key: 'name', message: 'Who?' }),
        ask({ key: 'colour', message: 'Which?' }),
      ])
      return answers.map(answer => answer.action).join()
    })
    const first = await exchange.turn(still)
    expect(first).toMatchObject({ questions: expect.any(Map) })
    expect([...exchange.questions().keys()]).toEqual(['name', 'colour'])
    exchange.answer({ colour: YES, unheardOf: YES })
    const second = await exchange.turn(still)
    expect('questions' in second && [...second.questions.keys()]).toEqual(['name'])
    exchange.answer({ name: { action: 'decline' } })
    expect(await exchange.turn(still)).toEqual({ answer: 'decline,accept' })
  })

  it('takes answers that came before their questions', async () => {
    const asked: Question = { key: 'sure', message: 'Sure?' }
    const exchange = start(async ({ ask }) => [(await ask(asked)).action, (await ask(asked)).action], { sure: YES })
    expect(await exchange.turn(still)).toMatchObject({ questions: expect.any(Map) })
    exchange.answer({ sure: { action: 'cancel' } })
    expect(await exchange.turn(still)).toEqual({ answer: ['accept', 'cancel'] })
  })

  it('takes no answer to what has to be shown first until it was shown', async () => {
    const asked: Question = { key: 'sure', message: 'Delete it?', shownFirst: true }
    const exchange = start(async ({ ask }) => (await ask(asked)).action, { sure: YES })
    expect(await exchange.turn(still)).toMatchObject({ questions: expect.any(Map) })
    exchange.answer({ sure: YES })
    expect([...exchange.questions().keys()]).toEqual(['sure'])
    exchange.show(exchange.questions())
    exchange.answer({ sure: { action: 'decline' } })
    expect(await exchange.turn(still)).toEqual({ answer: 'decline' })
  })

  it('takes having shown one question for having shown no other of the same name', async () => {
    const asked = (message: string): Question => ({ key: 'sure', message, shownFirst: true })
    const exchange = start(async ({ ask }) => [await ask(asked('Delete it?')), await ask(asked('Delete all?'))])
    await exchange.turn(still)
    exchange.show(exchange.questions())
    exchange.answer({ sure: YES })
    await exchange.turn(still)
    exchange.answer({ sure: YES })
    expect([...exchange.questions().values()]).toMatchObject([{ message: 'Delete all?' }])
  })

  it('files equal questions under names of their own', async () => {
    const exchange = start(({ ask }) => Promise.all([ask({ message: 'One?' }), ask({ message: 'Two?' })]))
    await exchange.turn(still)
    expect([...exchange.questions().keys()]).toEqual(['answer', 'answer-2'])
  })

  it('asks no more what was taken back, and takes no late answer to it for one to the next question', async () => {
    const doubt = new AbortController()
    const exchange = start(async ({ ask }) => {
      await ask({ message: 'Sure?' }, doubt.signal).catch(error => error)
      return (await ask({ message: 'Really delete it?' })).action
    })
    await exchange.turn(still)
    const closed = exchange.closed('answer')
    doubt.abort(new Error('never mind'))
    await closed
    expect(await exchange.turn(still)).toMatchObject({ questions: expect.any(Map) })
    exchange.answer({ answer: YES })
    expect([...exchange.questions().values()]).toEqual([{ message: 'Really delete it?' }])
    for (const key of exchange.questions().keys()) exchange.answer({ [key]: { action: 'decline' } })
    expect(await exchange.turn(still)).toEqual({ answer: 'decline' })
  })

  it('asks nothing that was taken back before', async () => {
    const exchange = start(({ ask }) => ask({ message: 'Sure?' }, AbortSignal.abort(new Error('never mind'))))
    await expect(exchange.turn(still)).rejects.toThrow('never mind')
    expect(exchange.questions().size).toBe(0)
  })

  it('is cancelled with the client that waits for it, and not with one that went before', async () => {
    const exchange = start(async ({ ask, signal }) => {
      await ask({ message: 'Sure?' })
      return aborted(signal)
    })
    const before = new AbortController()
    await exchange.turn(before.signal)
    before.abort(new Error('gone before'))
    exchange.answer({ answer: YES })
    const now = new AbortController()
    const turn = exchange.turn(now.signal)
    now.abort(new Error('gone now'))
    await expect(turn).rejects.toThrow('gone now')
  })

  it('is heard by whoever waits for it now', async () => {
    const exchange = start(async ({ ask, onProgress }) => {
      onProgress({ progress: 1 })
      await ask({ message: 'Sure?' })
      onProgress({ progress: 2 })
    })
    const heard: string[] = []
    await exchange.turn(still, { onProgress: ({ progress }) => heard.push(`first ${progress}`), onLog: undefined })
    exchange.answer({ answer: YES })
    await exchange.turn(still, { onProgress: ({ progress }) => heard.push(`second ${progress}`), onLog: undefined })
    expect(heard).toEqual(['first 1', 'second 2'])
  })
})

describe('exchanges that wait', () => {
  const parked = async () => {
    const clock = createFakeClock()
    const exchanges = createExchanges({ clock, ids: createIds() })
    const exchange = exchanges.start({
      begin: ({ ask, signal }) => Promise.race([ask({ message: 'Sure?' }), aborted(signal)]),
    })
    await exchange.turn(still)
    exchanges.park(exchange, { owner: 'ann', holder: 'token' })
    return { clock, exchanges, exchange }
  }

  it('are found by their owner, and by nobody else', async () => {
    const { exchanges, exchange } = await parked()
    expect(() => exchanges.resume(exchange.id(), 'bob', NOTHING)).toThrow(AppError)
    expect(exchanges.resume(exchange.id(), 'ann', NOTHING)).toBe(exchange)
  })

  it('are found again by an owner who lost the answer, for a minute', async () => {
    const { clock, exchanges, exchange } = await parked()
    exchanges.resume(exchange.id(), 'ann', NOTHING)
    exchange.answer({ answer: YES })
    expect(await exchange.turn(still)).toEqual({ answer: YES })
    expect(await exchanges.resume(exchange.id(), 'ann', NOTHING).turn(still)).toEqual({ answer: YES })
    await clock.advance(60_000)
    expect(() => exchanges.resume(exchange.id(), 'ann', NOTHING)).toThrow(AppError)
  })

  it('keep an end that came without the answer for an owner whose person still thinks', async () => {
    const { clock, exchanges, exchange } = await parked()
    await clock.advance(60_000)
    exchange.answer({ answer: YES })
    await exchange.done
    await clock.advance((ANSWER_SECONDS - 61) * 1000)
    expect(await exchanges.resume(exchange.id(), 'ann', NOTHING).turn(still)).toEqual({ answer: YES })
    await clock.advance(59_000)
    expect(await exchanges.resume(exchange.id(), 'ann', NOTHING).turn(still)).toEqual({ answer: YES })
    await clock.advance(1_000)
    expect(() => exchanges.resume(exchange.id(), 'ann', NOTHING)).toThrow(AppError)
  })

  it('keep no more such ends of one credential than it may leave open', async () => {
    const exchanges = createExchanges({ clock: createFakeClock(), ids: createIds() })
    const left = async () => {
      const over = new AbortController()
      const exchange = exchanges.start({
        begin: ({ ask }) => ask({ message: 'Sure?' }, over.signal).catch(() => 'over'),
      })
      await exchange.turn(still)
      exchanges.park(exchange, { owner: 'ann', holder: 'token' })
      over.abort(new Error('never mind'))
      await exchange.done
      return exchange
    }
    const all = await Promise.all(Array.from({ length: MOST_WAITING }, left))
    await expect(left()).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    exchanges.resume(all[0]?.id() ?? '', 'ann', NOTHING)
    await left()
  })

  it('are given up when nobody answers', async () => {
    const { clock, exchange, exchanges } = await parked()
    const end = exchange.done.catch(error => error)
    await clock.advance(ANSWER_SECONDS * 1000)
    expect(await end).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    await clock.advance(60_000)
    expect(() => exchanges.resume(exchange.id(), 'ann', NOTHING)).toThrow(AppError)
  })

  it('end when everything stops', async () => {
    const { exchanges, exchange } = await parked()
    exchanges.stop()
    expect(await exchange.done.catch(error => error)).toMatchObject({ code: 'STOPPING' })
  })
})

function aborted(signal: CancelSignal): Promise<never> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}
