import { describe, expect, it } from 'vitest'
import { type BridgedClient, ERAS } from './support/bridge.ts'
import { call, entryOf, openPlace, type Place, takePart } from './support/elsewhere.ts'
import { startUpProcess, type UpProcess } from './support/product.ts'

const ROUNDS = 20

/** An agent that answers every message, until it is told to stop. */
function answering(bridge: BridgedClient) {
  const over = new AbortController()
  async function work(): Promise<void> {
    while (!over.signal.aborted) {
      // A call that a lost server leaves open is an error, and the message is handed out again.
      const { data } = await call<{ message?: { activity_id: string; text: string } | null }>(
        bridge,
        'wait_for_message',
        {
          timeout_secs: 1,
        },
      )
      if (!data.message) continue
      const { activity_id, text } = data.message
      await call(bridge, 'reply', { activity_id, message: `answer to ${text}` })
    }
  }
  const working = work()
  return async () => {
    over.abort()
    await working
  }
}

describe.each(ERAS)('two workspaces elsewhere, of a client of era %s', era => {
  it(`lose and double no message over ${ROUNDS} restarts`, async () => {
    const places = {
      company: await openPlace('company', { start: dir => startUpProcess(dir) }),
      personal: await openPlace('personal', { start: dir => startUpProcess(dir) }),
    }
    const ups = new Map<Place, UpProcess>()
    for (const place of Object.values(places)) ups.set(place, place.up as UpProcess)
    const bridge = await takePart([entryOf(places.company), entryOf(places.personal)], era)
    const stop = answering(bridge)
    for (let round = 0; round < ROUNDS; round++) {
      const place = round % 2 === 0 ? places.company : places.personal
      const other = round % 2 === 0 ? places.personal : places.company
      await Promise.all([place.say(`before ${round}`), other.say(`beside ${round}`)])
      await ups.get(place)?.kill()
      await other.say(`meanwhile ${round}`)
      ups.set(place, await startUpProcess(place.dir, ['--port', new URL(place.up.url).port]))
      await place.say(`after ${round}`)
    }
    for (const place of Object.values(places)) {
      const said = async () => (await place.chat()).filter(text => !text.startsWith('>')).toSorted()
      const answered = async () =>
        (await place.chat()).flatMap(text => /^> answer to (.*)$/.exec(text)?.[1] ?? []).toSorted()
      await expect.poll(answered).toEqual(await said())
      expect(await said()).toHaveLength(2 * ROUNDS)
    }
    await stop()
  })
})
