import type { Client } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { ERAS } from './support/bridge.ts'
import { openFixture } from './support/upstream-fixture.ts'

const inbox = { capabilities: { inbox: {} }, view: 'direct' }
const AGENTS = {
  herald: { ...inbox, workspace: { abilities: ['broadcast'] } },
  north: { ...inbox, workspace: { parent: 'herald' } },
  south: { ...inbox, workspace: { parent: 'herald' } },
  below: { ...inbox, workspace: { parent: 'south' } },
  stranger: { ...inbox, workspace: { parent: 'other' } },
  other: inbox,
}

async function waiting(client: Client): Promise<string[]> {
  const { structuredContent } = await client.callTool({ name: 'inbox_peek', arguments: {} })
  return (structuredContent as { messages: { text: string }[] }).messages.map(({ text }) => text)
}

it.each(ERAS)('reaches each inbox in reach once, with the whole text, for a client of era %s', async era => {
  const fixture = await openFixture({ mcpServers: {}, agents: AGENTS })
  const clients = Object.fromEntries(
    await Promise.all(Object.keys(AGENTS).map(async agent => [agent, await fixture.connect(era, { agent })] as const)),
  ) as Record<keyof typeof AGENTS, Client>
  const { herald, north, south, below, stranger } = clients
  const send = (client: Client, args: Record<string, unknown>) =>
    client.callTool({ name: 'broadcast_message', arguments: args })

  const message = `The doors open at ten. ${'Bring a chair. '.repeat(2_000)}`
  const { structuredContent, content } = await send(herald, { message, idempotency_key: 'doors' })
  const { reached, missed } = structuredContent as { reached: number; missed: { name: string }[] }
  expect(missed).toEqual([])
  expect(content).toMatchObject([{ text: `${reached} of ${reached} peers have the message.` }])
  for (const client of [north, south]) expect(await waiting(client)).toEqual([message])
  for (const client of [below, stranger, herald]) expect(await waiting(client)).toEqual([])

  expect((await send(herald, { message, idempotency_key: 'doors' })).structuredContent).toEqual({ reached, missed })
  expect(await waiting(north)).toEqual([message])
  const other = await send(herald, { message: 'Closed.', idempotency_key: 'doors' })
  expect(other).toMatchObject({ isError: true, _meta: { 'quartermaster/error': { code: 'IDEMPOTENCY_CONFLICT' } } })

  const refused = await send(north, { message: 'Me too.' })
  expect(refused).toMatchObject({ isError: true, _meta: { 'quartermaster/error': { code: 'REQUEST_REFUSED' } } })
  expect(JSON.stringify(refused.content)).toContain('with the ability \\"broadcast\\", which an administrator gives')
  expect(await waiting(south)).toEqual([message])
})
