import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import type { Message } from '../../mcp-wire/index.ts'
import { readMessages } from '../stdio/message-reader.ts'
import { takeMessages } from './incoming-message.ts'

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

it.each([
  ['that is cut off', LONG.slice(0, -1)],
  ['that nests deeper than any', `${LONG.slice(0, -1)},"deep":${'['.repeat(600)}${']'.repeat(600)}}`],
  ['with more members in one object than any', JSON.stringify(answer(1, Object.fromEntries(MEMBERS)))],
  ['that is something else', JSON.stringify(tools)],
])('takes no message from a long text %s', async (_what, text) => {
  const taken: Message[][] = []
  await takeMessages(text, messages => void taken.push(messages))
  expect(taken).toEqual([[]])
})

it('keeps messages in their order behind a long one, and ends when all of them were handed over', async () => {
  const lines = [LONG, JSON.stringify(answer(2, {})), LONG, JSON.stringify(answer(3, {}))]
  const ids: unknown[] = []
  const { ended } = readMessages(Readable.from([Buffer.from(lines.join('\n'))]), {
    limits: { maxLineBytes: 32 * 1024 * 1024, maxNoise: 1 },
    onMessage: message => void ids.push('id' in message && message.id),
    onNoise() {},
    onGarbled() {},
    excerpt: text => text,
  })
  await ended
  expect(ids).toEqual([1, 2, 1, 3])
})
