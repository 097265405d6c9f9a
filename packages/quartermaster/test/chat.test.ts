import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import type { ChatPage, InboxMessage } from '../src/contracts/index.ts'
import { hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { connectClient } from './support/bridge.ts'
import { openFixture } from './support/upstream-fixture.ts'

const AGENT = { capabilities: { user: {}, inbox: {}, delegation: {} }, workspaceDir: 'work' }

interface Sent {
  readonly activity_id: string
  readonly attachments: readonly { readonly id: string; readonly name: string; readonly url: string }[]
  readonly warning?: string
}

async function send(client: Client, input: Record<string, unknown>): Promise<Sent> {
  const { structuredContent, isError, content } = await client.callTool({
    name: 'send_message_to_user',
    arguments: input,
  })
  if (isError) throw new Error(JSON.stringify(content))
  return structuredContent as unknown as Sent
}

/** The words that a refusal has, for the model. */
const refusal = (client: Client, input: Record<string, unknown>) =>
  send(client, input).then(
    () => expect.fail('It was sent.'),
    (error: Error) => error.message,
  )

const STORES = ['SQLite', ...(hasPostgres() ? ['PostgreSQL'] : [])]

it.each(STORES)(
  'is where a person and an agent talk, with files, over HTTP and beside the agent, on %s',
  async store => {
    const at = await openFixture({
      mcpServers: {},
      agents: { ada: AGENT, gwen: AGENT },
      ...(store === 'PostgreSQL' && { env: { DATABASE_URL: await testDatabase() } }),
      files: { 'work/report.txt': 'Up.', 'work/sub/ünï.csv': 'a,b', 'secret.txt': 'closed' },
    })
    await symlink('../secret.txt', join(at.dir, 'work/link.txt'))
    const ada = await at.connect('auto', { agent: 'ada' })
    const asAda = await at.tokenFor('ada')
    const { token: asPat } = await at.control<{ token: string }>('createToken', { person: 'pat' })
    const api = (path: string, token: string, init: RequestInit = {}) =>
      fetch(`${at.up.url}/api/v1${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, connection: 'close', ...init.headers },
      })
    const upload = async (token: string, name: string, body: string) =>
      ((await (await api(`/attachments?name=${name}`, token, { method: 'POST', body })).json()) as { id: string }).id
    const { structuredContent: me } = await ada.callTool({ name: 'get_workspace_info' })
    const { id } = me as { id: string }
    const chat = async (query = '', token = asPat, of = id) =>
      (await (await api(`/workspaces/${of}/chat${query}`, token)).json()) as ChatPage

    // A person's words and file reach the agent.
    const photo = await upload(asPat, 'photo.png', 'pixels')
    const body = JSON.stringify({ text: 'What do you see?', attachments: [photo] })
    const headers = { 'content-type': 'application/json' }
    expect((await api(`/workspaces/${id}/messages`, asPat, { method: 'POST', body, headers })).status).toBe(201)
    const { structuredContent: taken } = await ada.callTool({ name: 'wait_for_message' })
    const { message } = taken as { message: InboxMessage }
    expect(message).toMatchObject({
      kind: 'canvas_user',
      peer_name: 'pat',
      attachments: [{ id: photo, name: 'photo.png' }],
    })
    expect(await (await api(`/attachments/${photo}/content`, asAda)).text()).toBe('pixels')
    const { structuredContent: seen } = await ada.callTool({
      name: 'read_attachment',
      arguments: { attachment_id: photo },
    })
    expect(seen).toMatchObject({ name: 'photo.png', kind: 'text', text: 'pixels' })

    // The agent's words and files reach the people, who hear of them.
    const { since } = await chat()
    const events = await api(`/events?workspaceId=${id}&since=${since}`, asPat)
    const own = await upload(asAda, 'answer.txt', 'A boat.')
    const sent = await send(ada, { message: 'A boat, see /tmp/boat.txt', attachments: [own] })
    expect(sent).toMatchObject({
      attachments: [{ id: own, name: 'answer.txt' }],
      warning: expect.stringContaining('/tmp/boat.txt'),
    })
    let heard = ''
    for await (const piece of events.body ?? []) {
      heard += new TextDecoder().decode(piece)
      if (heard.includes(`"id":"${sent.activity_id}"`)) break
    }
    expect(heard).toContain('event: message.sent')
    const { entries } = await chat()
    expect(entries).toMatchObject([
      { from: { kind: 'person', name: 'pat' }, text: 'What do you see?', attachments: [{ id: photo, size: 6 }] },
      {
        id: sent.activity_id,
        from: { kind: 'workspace', id, name: 'ada' },
        attachments: [{ id: own, mediaType: 'text/plain' }],
      },
    ])
    const [chip] = entries[1]?.attachments ?? []
    expect(
      await (await fetch(`${at.up.url}${chip?.url}`, { headers: { authorization: `Bearer ${asPat}` } })).text(),
    ).toBe('A boat.')
    expect((await chat('', asAda)).entries).toHaveLength(2)
    expect(await (await api('/workspaces/ws_other/chat', asAda)).json()).toMatchObject({ code: 'NAME_UNKNOWN' })

    // All or nothing.
    const foreign = await upload(await at.tokenFor('gwen'), 'x', 'x')
    for (const attachments of [
      [own, 'att_none'],
      [own, foreign],
    ])
      expect(await refusal(ada, { message: 'x', attachments })).toContain('NAME_UNKNOWN')
    expect(await refusal(ada, { message: 'x', attachments: ['report.txt'] })).toContain('POST /api/v1/attachments')
    for (const blank of [' \n', '\u3000\u200b', '\u2800'])
      expect(await refusal(ada, { message: blank, attachments: [own] })).toContain('blank')
    expect(await refusal(ada, { message: 'ä'.repeat(524_289), attachments: [own] })).toContain('LIMIT_EXCEEDED')
    expect((await chat()).entries).toHaveLength(2)
    expect(await send(ada, { message: 'mine' })).not.toHaveProperty('warning')

    // Beside the agent paths are files, inside its folder and nowhere else.
    const { client: beside } = await connectClient(at.dir, 'legacy', { args: ['--agent', 'ada'] })
    const absolute = join(at.dir, 'work/report.txt')
    const both = await send(beside, { message: 'Both', attachments: [absolute, own, 'sub/ünï.csv'] })
    expect(both.attachments.map(({ name }) => name)).toEqual(['report.txt', 'answer.txt', 'ünï.csv'])
    for (const path of [
      '../secret.txt',
      'link.txt',
      '/etc/passwd',
      join(at.dir, '.quartermaster/admin-token'),
      'sub',
      'none.txt',
    ])
      expect(await refusal(beside, { message: 'x', attachments: [absolute, path] })).toContain('Nothing was sent')
    await beside.callTool({
      name: 'reply',
      arguments: { activity_id: message.activity_id, message: 'As a file', attachments: ['report.txt'] },
    })
    expect((await chat()).entries.slice(3).map(({ text, attachments }) => [text, attachments.length])).toEqual([
      ['Both', 3],
      ['As a file', 1],
    ])

    // A person answers one message of the agent, and says something.
    const write = (said: object) =>
      api(`/workspaces/${id}/messages`, asPat, { method: 'POST', body: JSON.stringify(said), headers })
    expect((await write({ text: '\u200b' })).status).toBe(400)
    expect((await write({ text: 'Thanks.', inReplyTo: both.activity_id })).status).toBe(201)
    const { structuredContent: last } = await ada.callTool({ name: 'wait_for_message' })
    expect(last).toMatchObject({ message: { text: 'Thanks.', in_reply_to: both.activity_id } })
  },
)
