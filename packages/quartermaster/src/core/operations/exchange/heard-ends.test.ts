import { describe, expect, it } from 'vitest'
import { createIds } from '../../../adapters/system/index.ts'
import { AppError } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createCancellation } from '../../kernel/index.ts'
import type { ExchangeContext } from './exchange.ts'
import { ANSWER_SECONDS, createExchanges, MOST_WAITING } from './exchanges.ts'

const BY = { owner: 'ada', holder: 'token' }
const still = () => createCancellation().signal

/** Work that asks one question, and knows whether anybody has heard how it ended. */
function open() {
  const clock = createFakeClock()
  const exchanges = createExchanges({ clock, ids: createIds() })
  let context: ExchangeContext | undefined
  const start = (holder?: string) =>
    exchanges.start({
      holder,
      async begin(given) {
        context = given
        await given.ask({ message: 'Sure?' }).catch(() => {})
        return 'done'
      },
    })
  return { clock, exchanges, start, isHeard: () => context?.isHeard() }
}

describe('the end of an exchange', () => {
  it('is heard by whoever takes the last turn, unless that went away', async () => {
    const { start, isHeard } = open()
    const caller = { isGone: false }
    const exchange = start()
    await exchange.turn(still())
    exchange.answer({ answer: { action: 'accept' } })
    expect(await exchange.turn(still(), { isGone: () => caller.isGone })).toEqual({ answer: 'done' })
    expect(isHeard()).toBe(true)
    caller.isGone = true
    expect(isHeard()).toBe(false)
  })

  it('may still be heard while its client has been asked, until nobody waits for that any more', async () => {
    const { clock, exchanges, start, isHeard } = open()
    const exchange = start()
    await exchange.turn(still())
    exchanges.park(exchange, BY)
    // Somebody else has answered meanwhile.
    exchange.answer({ answer: { action: 'accept' } })
    await exchange.done
    expect(isHeard()).toBeUndefined()
    await clock.advance(ANSWER_SECONDS * 1000)
    expect(isHeard()).toBe(false)
  })

  it('is heard when the client comes back for it', async () => {
    const { exchanges, start, isHeard } = open()
    const exchange = start()
    await exchange.turn(still())
    const { round } = exchanges.park(exchange, BY)
    exchange.answer({ answer: { action: 'accept' } })
    await exchange.done
    const brought = { round, said: new Map(), answersTo: () => ({}) }
    expect(await exchanges.resume(exchange.id(), BY.owner, brought).turn(still())).toEqual({ answer: 'done' })
    expect(isHeard()).toBe(true)
  })

  it('is heard by nobody where the client went away in its turn', async () => {
    const { start, isHeard } = open()
    const exchange = start()
    await exchange.turn(still())
    exchange.answer({ answer: { action: 'accept' } })
    const { signal, cancel } = createCancellation()
    const turn = exchange.turn(signal)
    cancel(new AppError('CANCELLED', 'The client went away.'))
    await turn
    expect(isHeard()).toBe(false)
  })

  it('is heard by nobody where its client may not be asked', async () => {
    const { exchanges, start, isHeard } = open()
    for (let i = 0; i < MOST_WAITING; i++) {
      const one = start()
      await one.turn(still())
      exchanges.park(one, BY)
    }
    const exchange = start()
    await exchange.turn(still())
    expect(() => exchanges.park(exchange, BY)).toThrow(AppError)
    expect(isHeard()).toBe(false)
  })
})
