import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import type { Message } from '../../mcp-wire/index.ts'
import { readMessages } from '../transport/program-output.ts'
import { refusedAnswer } from './channel.ts'
import { takeMessages, takeTooLong } from './incoming-message.ts'

const tools = Array.from({ length: 20_000 }, (_, i) => ({ name: `t${i}`, inputSchema: { type: 'object' } }))
const answer = (id: number, result: object) => ({ jsonrpc: '2.0', id, result })
const MEMBERS = Array.from({ length: 100_001 }, (_, i) => [`k${i}`, i])
const LONG = JSON.stringify(answer(1, { tools }))

it('hands a message over at once, and lets others have their turn while it reads a long one', async () => {
  let turns = 0
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  onTestFinished(() => clearImmediate(counting))
  const taken: Message[] = []
  const take = (messages: readonly Message[]) => void taken.push(...messages)
  expect(takeMessages(JSON.stringify(answer(7, {})), take)).toBeUndefined()
  expect(taken).toEqual([answer(7, {})])
  const taking = takeMessages(LONG, take)
  expect(taken).toHaveLength(1)
  await taking
  expect(turns).toBeGreaterThan(0)
  expect(taken[1]).toEqual(answer(1, { tools }))
})

it('takes an id that is written as text for the number that it is, in answers alone', () => {
  const taken: unknown[] = []
  const texts = [
    { ...answer(0, {}), id: '7' },
    { ...answer(0, {}), id: 'seven' },
    { jsonrpc: '2.0', id: '7', method: 'ping' },
  ]
  takeMessages(JSON.stringify(texts), messages => void taken.push(...messages))
  expect(taken).toEqual([answer(7, {}), ...texts.slice(1)])
})

it('lets others have their turn between the messages of a long batch', async () => {
  const batch = JSON.stringify([answer(1, { tools }), answer(2, {}), answer(3, {})])
  const ids: unknown[] = []
  let turns = 0
  let counting = setImmediate(function count() {
    turns++
    counting = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(counting))
  const turnsAt: number[] = []
  await takeMessages(batch, messages => {
    ids.push(...messages.map(message => 'id' in message && message.id))
    turnsAt.push(turns)
    // As long as a large message takes.
    for (const end = performance.now() + 10; performance.now() < end; );
  })
  expect(ids).toEqual([1, 2, 3])
  expect(new Set(turnsAt).size).toBe(3)
})

it.each([
  ['that is cut off', LONG.slice(0, -1)],
  ['that is something else', JSON.stringify(tools)],
])('takes no message from a long text %s', async (_what, text) => {
  const taken: unknown[] = []
  await takeMessages(text, (...all) => void taken.push(all))
  expect(taken).toEqual([[[]]])
})

const DEEP = `${'['.repeat(600)}${']'.repeat(600)}`
const WIDE = JSON.stringify(Object.fromEntries(MEMBERS))
it.each([
  ['deep, and long', `{"jsonrpc":"2.0","id":7,"result":${LONG.slice(0, -1)},"deep":${DEEP}}}`, 'nests deeper than 512'],
  ['deep, and short', `{"id":7,"jsonrpc":"2.0","result":${DEEP}}`, 'nests deeper than 512 levels'],
  ['wide, with its id at the end', `{"result":${WIDE},"jsonrpc":"2.0","id":7}`, 'with more than 100000 members'],
  ['wide, written with spaces', ` { "id": 7, "result": ${WIDE} }\r`, 'with more than 100000 members'],
])('hands over that there was an answer, and why it is not taken, where it is too %s', async (_what, text, why) => {
  const taken: unknown[] = []
  await takeMessages(text, (...all) => void taken.push(all))
  const words = expect.stringContaining(why)
  expect(taken).toEqual([[[{ jsonrpc: '2.0', id: 7, result: expect.objectContaining({ why: words }) }], words]])
})

it.each([
  ['a question', `{"jsonrpc":"2.0","id":7,"method":"a","params":${DEEP}}`],
  ['a question with its id at the end', `{"jsonrpc":"2.0","method":"a","params":${WIDE},"id":7}`],
  ['an answer that does not say to what', `{"jsonrpc":"2.0","result":${DEEP}}`],
  ['an answer with an id of its own within', `{"jsonrpc":"2.0","result":{"a":${DEEP},"id":7}}`],
])('says what is too much in %s, and hands nothing over', async (_what, text) => {
  const taken: unknown[] = []
  await takeMessages(text, (...all) => void taken.push(all))
  expect(taken).toEqual([[[], expect.stringMatching(/^It (?:nests deeper|has an object with more) than /)]])
})

it.each([
  ['its id first', '{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"xxx', 'xxx"}]}}\r', [7]],
  ['its id last', '{"result":{"content":[{"text":"xxx', 'xxx"}]},"jsonrpc":"2.0","id":7}', [7]],
  ['no id', '{"jsonrpc":"2.0","method":"a","params":{"text":"xxx', 'xxx"},"id":7}', []],
])('knows from the ends of what is too long to be held whom to tell: %s', (_what, head, tail, ids) => {
  const excess = 'It is longer than 1000 bytes.'
  const taken: unknown[] = []
  takeTooLong({ head, tail }, 1_000, (...all) => void taken.push(all))
  expect(taken).toEqual([[ids.map(id => refusedAnswer(id, excess)), excess]])
})

it('keeps messages in their order behind a long one, and ends when all of them were handed over', async () => {
  const lines = [LONG, JSON.stringify(answer(2, {})), LONG, JSON.stringify(answer(3, {}))]
  const ids: unknown[] = []
  const { ended } = readMessages(Readable.from([Buffer.from(lines.join('\n'))]), {
    limits: { maxLineBytes: 32 * 1024 * 1024, maxSkippedBytes: 2 ** 30, maxGreeting: 1, maxNoise: 1 },
    onMessage: message => void ids.push('id' in message && message.id),
    onNoise() {},
    onGarbled() {},
    start: head => head,
    excerpt: text => text,
  })
  await ended
  expect(ids).toEqual([1, 2, 1, 3])
})
