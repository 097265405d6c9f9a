import { expect, it } from 'vitest'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'

/** A tool that asks for consent and takes anything. */
async function consentService() {
  const ran: unknown[] = []
  const handler = (input: unknown) => (ran.push(input), 'done')
  const tool = simpleTool('count', { mutates: true, consent: ['count.up'], handler: handler as never })
  const consentOperations = [{ name: 'count.up', reason: 'It counts.', weight: 'low' } as const]
  const storage = memoryStorage()
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [tool], { consentOperations })] } },
    agents: { ada: { capabilities: { main: {} }, consent: { allow: ['count.up'] } } },
    storage,
  })
  return { hub, ran, store: storage.store, call: (text: string) => hub.callAs('ada', 'count', JSON.parse(text)) }
}

it.each([
  ['{"v":1e400}', 'v'],
  ['{"v":-1e999}', 'v'],
  ['{"a":null,"v":[1,{"w":1e400}]}', 'v.1.w'],
])(
  'refuses a number that cannot be shown to a person, before anything is asked or on record: %s',
  async (text, path) => {
    const { call, ran, store } = await consentService()
    expect(await failureOf(call(text))).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining(`${path}: The number is too large`),
    })
    expect([ran, await store.count('operations')]).toEqual([[], 0])
  },
)

it('takes null for what it is, and -0 for 0', async () => {
  const { call, ran, store } = await consentService()
  await call('{"v":null}')
  await call('{"v":0}')
  await call('{"v":-0}')
  expect(ran).toHaveLength(3)
  const digests = (await store.find('operations', {})).map(({ digest }) => digest)
  expect(new Set(digests).size).toBe(2)
})
