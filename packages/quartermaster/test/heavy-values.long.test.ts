import type { Client } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { ERAS } from './support/bridge.ts'
import { ILL_SERVER, openFixture, program, textOf } from './support/upstream-fixture.ts'

const COUNT = 49_000
const rows = Array.from({ length: COUNT }, (_, id) => ({ id }))
const unique = { type: 'array', uniqueItems: true, items: { type: 'object' } }
const next = { properties: { next: { $ref: '#/$defs/node' } }, not: { required: ['end'] } }
const node = { anyOf: [next, { ...next, type: 'object' }] }

const tool = (name: string, properties: object, more: object = {}) => ({
  name,
  description: `Is ${name}.`,
  inputSchema: { type: 'object', properties, ...more },
  annotations: { readOnlyHint: true },
})
const TOOLS = [
  tool('take', { rows: unique }),
  tool('sort', { rows: { type: 'array', items: { enum: rows.slice(0, 4000) } } }),
  tool('follow', { chain: { $ref: '#/$defs/node' } }, { $defs: { node } }),
]
const given = { ...tool('give', {}), outputSchema: { type: 'object', properties: { rows: unique } } }

/** Server `takes` echoes what it is given, server `gives` answers with many rows. */
function openHeavy() {
  const answer = { content: [{ type: 'text', text: 'many rows' }], structuredContent: { rows } }
  return openFixture({
    mcpServers: {
      takes: program(ILL_SERVER, '--definitions=takes.json'),
      gives: program(ILL_SERVER, '--definitions=gives.json', '--answers=answers.json'),
    },
    files: {
      'takes.json': JSON.stringify(TOOLS),
      'gives.json': JSON.stringify([given]),
      'answers.json': JSON.stringify({ 'tools/call': JSON.stringify(answer) }),
    },
    settings: { firstListWaitMs: 60_000 },
  })
}

async function refusal(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { isError, content } = await client.callTool({ name, arguments: args })
  expect(isError).toBe(true)
  return (content as { text: string }[])[0]?.text ?? ''
}

// Comparing each with each other takes minutes, and following both ways fifty times takes for ever.
it.each(ERAS)('many rows that must differ hold up no other request, for a client of era %s', async era => {
  const fixture = await openHeavy()
  const [client, other] = await Promise.all([fixture.connect(era), fixture.connect(era)])
  await client.listTools()
  const [taken, sorted, told, beside] = await Promise.all([
    client.callTool({ name: 'takes_take', arguments: { rows } }),
    client.callTool({ name: 'takes_sort', arguments: { rows: rows.map(({ id }) => ({ id: id % 4000 })) } }),
    textOf(client, 'gives_give'),
    textOf(other, 'takes_take', { rows: [{ id: 1 }] }),
  ])
  expect([taken.isError, sorted.isError]).toEqual([undefined, undefined])
  expect(told).toContain('"gives_give" succeeded')
  expect(beside).toContain('"id":1')
  expect(await refusal(client, 'takes_take', { rows: [...rows, { id: 7 }] })).toContain(
    `items 7 and ${COUNT} are equal`,
  )
})

it('refuses what takes too many steps to check, and names the place in the schema', async () => {
  const fixture = await openHeavy()
  const client = await fixture.connect()
  await client.listTools()
  const chain = Array.from({ length: 50 }).reduce<object>(inner => ({ next: inner }), { end: true })
  expect(await refusal(client, 'takes_follow', { chain })).toContain(
    'takes too many steps to check, at /$defs/node/anyOf',
  )
})
