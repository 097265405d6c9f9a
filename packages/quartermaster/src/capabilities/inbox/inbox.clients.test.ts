import { Client, InMemoryTransport, type StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { connect, frontOf } from '../../adapters/mcp-server/testing/front.ts'
import { readerOf } from '../../core/messages/index.ts'
import { createHub } from '../../testing/hub.ts'
import { openInboxes } from '../../testing/inbox-fixture.ts'

/** The agent "bob" with an inbox, over MCP. */
async function open() {
  const at = await openInboxes()
  const { ada, bob } = await at.workspaces('ada', 'bob')
  const hub = await createHub({
    units: { 'inbox.ts': { capabilities: at.capabilities } },
    agents: { bob: { capabilities: { inbox: {} } } },
    clock: at.clock,
    clientGone: client => at.messages.inbox.leave(readerOf(client)),
  })
  const front = frontOf(hub)
  return { ...at, ada, bob, hub, front }
}

async function textOf(client: Client, name: string, input: Record<string, unknown> = {}) {
  const { content, structuredContent } = await client.callTool({ name, arguments: input })
  const [first] = content as { text: string }[]
  return { text: first?.text ?? '', data: structuredContent as Record<string, unknown> }
}

const endSession = (client: Client) => (client.transport as StreamableHTTPClientTransport).terminateSession()

const HELD = {
  data: { held_by_others: { messages: 1, until: '2023-11-14T22:15:20.000Z' } },
  text: 'Another client of yours has 1 message in hand until 2023-11-14T22:15:20.000Z.',
}

describe('what a client had in hand', () => {
  it('is with its next one at once when its session has ended, and meanwhile others are told of it', async () => {
    const { front, ada, bob, say } = await open()
    await say(ada, bob, 'for one')
    const [first, modern] = [await connect(front, 'bob', 'legacy'), await connect(front, 'bob', 'auto')]
    expect((await textOf(first, 'wait_for_message')).data).toMatchObject({ message: { text: 'for one' } })
    const peeked = await textOf(modern, 'inbox_peek')
    expect(peeked.data).toMatchObject({ messages: [], ...HELD.data, note: expect.stringContaining(HELD.text) })
    expect(peeked.text).toContain(`Nothing is free to take.\n\n${HELD.text}`)
    const popped = await textOf(modern, 'inbox_pop', { activity_id: 'msg_none_in' })
    expect(popped.data).toMatchObject({ removed: false, ...HELD.data })
    expect(popped.text).toContain(HELD.text)
    await endSession(first)
    const next = await connect(front, 'bob', 'legacy')
    const { data } = await textOf(next, 'inbox_peek')
    expect(data).toMatchObject({ messages: [{ text: 'for one' }] })
    expect(data).not.toHaveProperty('held_by_others')
  })

  it('is told to whoever waited in vain', async () => {
    const { front, ada, bob, say, clock, messages } = await open()
    await say(ada, bob, 'for one')
    const [first, modern] = [await connect(front, 'bob', 'legacy'), await connect(front, 'bob', 'auto')]
    await textOf(first, 'inbox_peek')
    const waiting = textOf(modern, 'wait_for_message', { timeout_secs: 5 })
    await expect.poll(() => messages.watchers.count()).toBe(1)
    await clock.advance(5_000)
    const { text, data } = await waiting
    expect(data).toMatchObject({ message: null, ...HELD.data })
    expect(text).toMatch(/^No message came within 5 seconds\.\nAnother client of yours has 1 message in hand until /)
    expect(data.note).toContain(HELD.text)
  })

  it.each(['auto', 'legacy'] as const)('is free when its token is taken back, of a client of era %s', async era => {
    const { front, ada, bob, say, texts } = await open()
    await say(ada, bob, 'for one')
    const client = await connect(front, 'bob', era)
    await textOf(client, 'inbox_peek')
    expect(await texts(bob, 'another')).toEqual([])
    await front.revoke('bob')
    expect(await texts(bob, 'another')).toEqual(['for one'])
  })

  it('is free when everything ends', async () => {
    const { front, ada, bob, say, texts } = await open()
    await say(ada, bob, 'for one')
    await textOf(await connect(front, 'bob', 'legacy'), 'inbox_peek')
    expect(await texts(bob, 'another')).toEqual([])
    await front.close()
    expect(await texts(bob, 'another')).toEqual(['for one'])
  })

  it('is free when a client in the same process has gone', async () => {
    const { hub, ada, bob, say, texts } = await open()
    await say(ada, bob, 'for one')
    const capabilities = { inbox: {} }
    const place = { agentDir: '/project/agents', workspaceDir: '/project', agent: { capabilities, name: 'bob' } }
    const { inbox } = hub.registry.resolve(capabilities, place).mcpServers
    if (inbox?.type !== 'sdk') throw new Error('It is no server of this process.')
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const client = new Client({ name: 'test', version: '1' })
    const server = inbox.instance as { connect(transport: InMemoryTransport): Promise<void> }
    await Promise.all([server.connect(theirs), client.connect(ours)])
    await textOf(client, 'inbox_peek')
    expect(await texts(bob, 'another')).toEqual([])
    await client.close()
    await expect.poll(() => texts(bob, 'another')).toEqual(['for one'])
  })
})
