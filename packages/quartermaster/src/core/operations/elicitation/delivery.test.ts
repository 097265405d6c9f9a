import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { AppError } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createCancellation } from '../../kernel/index.ts'
import { ANSWER_SECONDS, createElicitations, type ElicitationContext, MOST_WAITING } from '../index.ts'

const BY = { owner: 'ada', holder: 'token' }
const still = () => createCancellation().signal

/** Work that asks one question, and knows whether its result was delivered. */
function open() {
  const clock = createFakeClock()
  const elicitations = createElicitations({ clock, ids: createIds() })
  let context: ElicitationContext | undefined
  const start = (holder?: string) =>
    elicitations.start({
      holder,
      async begin(given) {
        context = given
        await given.ask({ message: 'Sure?' }).catch(() => {})
        return 'done'
      },
    })
  return { clock, elicitations, start, isDelivered: () => context?.isDelivered() }
}

describe('the result of an elicitation', () => {
  it('is delivered to the client of the last turn, unless that is gone', async () => {
    const { start, isDelivered } = open()
    const caller = { isGone: false }
    const elicitation = start()
    await elicitation.turn(still())
    elicitation.answer({ answer: { action: 'accept' } })
    expect(await elicitation.turn(still(), { isGone: () => caller.isGone })).toEqual({ answer: 'done' })
    expect(isDelivered()).toBe(true)
    caller.isGone = true
    expect(isDelivered()).toBe(false)
  })

  it('may still be delivered to a client that was asked something, until that expires', async () => {
    const { clock, elicitations, start, isDelivered } = open()
    const elicitation = start()
    await elicitation.turn(still())
    elicitations.park(elicitation, BY)
    // Another person has answered meanwhile.
    elicitation.answer({ answer: { action: 'accept' } })
    await elicitation.done
    expect(isDelivered()).toBeUndefined()
    await clock.advance(ANSWER_SECONDS * 1000)
    expect(isDelivered()).toBe(false)
  })

  it('is delivered when the client comes back for it', async () => {
    const { elicitations, start, isDelivered } = open()
    const elicitation = start()
    await elicitation.turn(still())
    const { round } = elicitations.park(elicitation, BY)
    elicitation.answer({ answer: { action: 'accept' } })
    await elicitation.done
    const brought = { round, said: new Map(), answersTo: () => ({}) }
    expect(await elicitations.resume(elicitation.id(), BY.owner, brought).turn(still())).toEqual({ answer: 'done' })
    expect(isDelivered()).toBe(true)
  })

  it('is not delivered where the client went away in its turn', async () => {
    const { start, isDelivered } = open()
    const elicitation = start()
    await elicitation.turn(still())
    elicitation.answer({ answer: { action: 'accept' } })
    const { signal, cancel } = createCancellation()
    const turn = elicitation.turn(signal)
    cancel(new AppError('CANCELLED', 'The client went away.'))
    await turn
    expect(isDelivered()).toBe(false)
  })

  it('is not delivered where its client may not be asked', async () => {
    const { elicitations, start, isDelivered } = open()
    for (let i = 0; i < MOST_WAITING; i++) {
      const one = start()
      await one.turn(still())
      elicitations.park(one, BY)
    }
    const elicitation = start()
    await elicitation.turn(still())
    expect(() => elicitations.park(elicitation, BY)).toThrow(AppError)
    expect(isDelivered()).toBe(false)
  })
})
