import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { type Answer, AppError, type Question } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { type CancelSignal, createCancellation } from '../../kernel/index.ts'
import { ANSWER_SECONDS, createElicitations, type ElicitationContext, MOST_WAITING } from '../index.ts'

const YES: Answer = { action: 'accept', content: { sure: true } }
/** Never cancelled. Not an `AbortSignal`, which warns of more than ten listeners. */
const still = createCancellation().signal

function start<T>(begin: (context: ElicitationContext) => Promise<T>, early: Record<string, Answer> = {}) {
  return createElicitations({ clock: createFakeClock(), ids: createIds() }).start({ begin, early })
}

const NOTHING = { round: 1, said: new Map(), answersTo: () => ({}) }

describe('an elicitation', () => {
  it('ends in one turn when nothing is asked', async () => {
    const elicitation = start(async () => 'done')
    expect(await elicitation.turn(still)).toEqual({ answer: 'done' })
  })

  it('asks at once what is asked at the same time, and goes on when all of it is answered', async () => {
    const elicitation = start(async ({ ask }) => {
      const answers = await Promise.all([
        ask({ key: 'name', message: 'Who?' }),
        ask({ key: 'colour', message: 'Which?' }),
      ])
      return answers.map(answer => answer.action).join()
    })
    const first = await elicitation.turn(still)
    expect(first).toMatchObject({ questions: expect.any(Map) })
    expect([...elicitation.questions().keys()]).toEqual(['name', 'colour'])
    elicitation.answer({ colour: YES, unknown: YES })
    const second = await elicitation.turn(still)
    expect('questions' in second && [...second.questions.keys()]).toEqual(['name'])
    elicitation.answer({ name: { action: 'decline' } })
    expect(await elicitation.turn(still)).toEqual({ answer: 'decline,accept' })
  })

  it('takes answers that came before their questions', async () => {
    const asked: Question = { key: 'sure', message: 'Sure?' }
    const elicitation = start(async ({ ask }) => [(await ask(asked)).action, (await ask(asked)).action], { sure: YES })
    expect(await elicitation.turn(still)).toMatchObject({ questions: expect.any(Map) })
    elicitation.answer({ sure: { action: 'cancel' } })
    expect(await elicitation.turn(still)).toEqual({ answer: ['accept', 'cancel'] })
  })

  it('takes no answer to what has to be shown first until it was shown', async () => {
    const asked: Question = { key: 'sure', message: 'Delete it?', shownFirst: true }
    const elicitation = start(async ({ ask }) => (await ask(asked)).action, { sure: YES })
    expect(await elicitation.turn(still)).toMatchObject({ questions: expect.any(Map) })
    elicitation.answer({ sure: YES })
    expect([...elicitation.questions().keys()]).toEqual(['sure'])
    elicitation.show(elicitation.questions())
    elicitation.answer({ sure: { action: 'decline' } })
    expect(await elicitation.turn(still)).toEqual({ answer: 'decline' })
  })

  it('takes having shown one question for having shown no other of the same name', async () => {
    const asked = (message: string): Question => ({ key: 'sure', message, shownFirst: true })
    const elicitation = start(async ({ ask }) => [await ask(asked('Delete it?')), await ask(asked('Delete all?'))])
    await elicitation.turn(still)
    elicitation.show(elicitation.questions())
    elicitation.answer({ sure: YES })
    await elicitation.turn(still)
    elicitation.answer({ sure: YES })
    expect([...elicitation.questions().values()]).toMatchObject([{ message: 'Delete all?' }])
  })

  it('files equal questions under names of their own', async () => {
    const elicitation = start(({ ask }) => Promise.all([ask({ message: 'One?' }), ask({ message: 'Two?' })]))
    await elicitation.turn(still)
    expect([...elicitation.questions().keys()]).toEqual(['answer', 'answer-2'])
  })

  it('closes a withdrawn question, and takes no late answer to it for one to the next question', async () => {
    const doubt = new AbortController()
    const elicitation = start(async ({ ask }) => {
      await ask({ message: 'Sure?' }, doubt.signal).catch(error => error)
      return (await ask({ message: 'Really delete it?' })).action
    })
    await elicitation.turn(still)
    const closed = elicitation.closed('answer')
    doubt.abort(new Error('never mind'))
    await closed
    expect(await elicitation.turn(still)).toMatchObject({ questions: expect.any(Map) })
    elicitation.answer({ answer: YES })
    expect([...elicitation.questions().values()]).toEqual([{ message: 'Really delete it?' }])
    for (const key of elicitation.questions().keys()) elicitation.answer({ [key]: { action: 'decline' } })
    expect(await elicitation.turn(still)).toEqual({ answer: 'decline' })
  })

  it('does not ask a question that was withdrawn before', async () => {
    const elicitation = start(({ ask }) => ask({ message: 'Sure?' }, AbortSignal.abort(new Error('never mind'))))
    await expect(elicitation.turn(still)).rejects.toThrow('never mind')
    expect(elicitation.questions().size).toBe(0)
  })

  it('is cancelled with the client that waits for it now, not with an earlier one', async () => {
    const elicitation = start(async ({ ask, signal }) => {
      await ask({ message: 'Sure?' })
      return aborted(signal)
    })
    const before = new AbortController()
    await elicitation.turn(before.signal)
    before.abort(new Error('gone before'))
    elicitation.answer({ answer: YES })
    const now = new AbortController()
    const turn = elicitation.turn(now.signal)
    now.abort(new Error('gone now'))
    await expect(turn).rejects.toThrow('gone now')
  })

  it('reports progress to the client that waits for it now', async () => {
    const elicitation = start(async ({ ask, onProgress }) => {
      onProgress({ progress: 1 })
      await ask({ message: 'Sure?' })
      onProgress({ progress: 2 })
    })
    const observed: string[] = []
    await elicitation.turn(still, {
      onProgress: ({ progress }) => observed.push(`first ${progress}`),
      onLog: undefined,
    })
    elicitation.answer({ answer: YES })
    await elicitation.turn(still, {
      onProgress: ({ progress }) => observed.push(`second ${progress}`),
      onLog: undefined,
    })
    expect(observed).toEqual(['first 1', 'second 2'])
  })
})

describe('waiting elicitations', () => {
  const parked = async () => {
    const clock = createFakeClock()
    const elicitations = createElicitations({ clock, ids: createIds() })
    const elicitation = elicitations.start({
      begin: ({ ask, signal }) => Promise.race([ask({ message: 'Sure?' }), aborted(signal)]),
    })
    await elicitation.turn(still)
    elicitations.park(elicitation, { owner: 'ann', holder: 'token' })
    return { clock, elicitations, elicitation }
  }

  it('are found by their owner only', async () => {
    const { elicitations, elicitation } = await parked()
    expect(() => elicitations.resume(elicitation.id(), 'bob', NOTHING)).toThrow(AppError)
    expect(elicitations.resume(elicitation.id(), 'ann', NOTHING)).toBe(elicitation)
  })

  it('are found again by an owner who lost the answer, for a minute', async () => {
    const { clock, elicitations, elicitation } = await parked()
    elicitations.resume(elicitation.id(), 'ann', NOTHING)
    elicitation.answer({ answer: YES })
    expect(await elicitation.turn(still)).toEqual({ answer: YES })
    expect(await elicitations.resume(elicitation.id(), 'ann', NOTHING).turn(still)).toEqual({ answer: YES })
    await clock.advance(60_000)
    expect(() => elicitations.resume(elicitation.id(), 'ann', NOTHING)).toThrow(AppError)
  })

  it('keep an end that came without the answer for an owner whose person still thinks', async () => {
    const { clock, elicitations, elicitation } = await parked()
    await clock.advance(60_000)
    elicitation.answer({ answer: YES })
    await elicitation.done
    await clock.advance((ANSWER_SECONDS - 61) * 1000)
    expect(await elicitations.resume(elicitation.id(), 'ann', NOTHING).turn(still)).toEqual({ answer: YES })
    await clock.advance(59_000)
    expect(await elicitations.resume(elicitation.id(), 'ann', NOTHING).turn(still)).toEqual({ answer: YES })
    await clock.advance(1_000)
    expect(() => elicitations.resume(elicitation.id(), 'ann', NOTHING)).toThrow(AppError)
  })

  it('keep no more such ends of one credential than it may leave open', async () => {
    const elicitations = createElicitations({ clock: createFakeClock(), ids: createIds() })
    const left = async () => {
      const over = new AbortController()
      const elicitation = elicitations.start({
        begin: ({ ask }) => ask({ message: 'Sure?' }, over.signal).catch(() => 'over'),
      })
      await elicitation.turn(still)
      elicitations.park(elicitation, { owner: 'ann', holder: 'token' })
      over.abort(new Error('never mind'))
      await elicitation.done
      return elicitation
    }
    const all = await Promise.all(Array.from({ length: MOST_WAITING }, left))
    await expect(left()).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    elicitations.resume(all[0]?.id() ?? '', 'ann', NOTHING)
    await left()
  })

  it('expire without an answer', async () => {
    const { clock, elicitation, elicitations } = await parked()
    const end = elicitation.done.catch(error => error)
    await clock.advance(ANSWER_SECONDS * 1000)
    expect(await end).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    await clock.advance(60_000)
    expect(() => elicitations.resume(elicitation.id(), 'ann', NOTHING)).toThrow(AppError)
  })

  it('end when everything stops', async () => {
    const { elicitations, elicitation } = await parked()
    elicitations.stop()
    expect(await elicitation.done.catch(error => error)).toMatchObject({ code: 'STOPPING' })
  })
})

function aborted(signal: CancelSignal): Promise<never> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}
