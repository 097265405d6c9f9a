import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import type { InboxMessage } from '../src/contracts/index.ts'
import { onFixture, openFixture, openProcessFixture } from './support/upstream-fixture.ts'

async function call<T>(client: Client, name: string, input: Record<string, unknown> = {}): Promise<T> {
  const { structuredContent, isError, content } = await client.callTool({ name, arguments: input })
  if (isError) throw new Error(JSON.stringify(content))
  return structuredContent as T
}

interface Taken {
  readonly message: InboxMessage | null
  readonly note?: string
}

it('carries messages between two agents and a person, while waiting blocks nothing', async () => {
  const agent = { capabilities: { inbox: {}, history: {}, delegation: {} } }
  const at = await openFixture({ mcpServers: {}, agents: { ada: agent, bob: agent } })
  const [ada, bob] = await Promise.all([at.connect('auto', { agent: 'ada' }), at.connect('legacy', { agent: 'bob' })])
  const { token: asPat } = await at.control<{ token: string }>('createToken', { person: 'pat' })
  const me = await call<{ id: string }>(bob, 'get_workspace_info')
  const api = async (path: string, token: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
    const answer = await fetch(`${at.up.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(201)
    return (await answer.json()) as { activityId: string }
  }
  const inboxOf = async (url: string, token: string, query = '') => {
    const headers = { authorization: `Bearer ${token}`, connection: 'close' }
    const answer = await fetch(`${url}/api/v1/inbox${query}`, { headers })
    return (await answer.json()) as { messages: { text: string; activityId: string }[] }
  }

  // A program whose token is taken back has nothing in hand any more, also one that never used a tool.
  await api(`/workspaces/${me.id}/messages`, asPat, { text: 'For one of you' })
  const first = await at.control<{ token: string; facts: { id: string } }>('createToken', { agent: 'bob' })
  expect(await inboxOf(at.up.url, first.token)).toMatchObject({ messages: [{ text: 'For one of you' }] })
  const asBob = await at.tokenFor('bob')
  const freed = inboxOf(at.up.url, asBob, '?waitSeconds=30')
  await at.control('revokeToken', { id: first.facts.id })
  const { messages: had } = await freed
  expect(had).toMatchObject([{ text: 'For one of you' }])
  await call(bob, 'inbox_pop', { activity_id: had[0]?.activityId })

  const waiting = call<Taken>(bob, 'wait_for_message', { timeout_secs: 300 })
  expect(await call(bob, 'inbox_peek')).toEqual({ messages: [], next_cursor: null })
  await api(`/workspaces/${me.id}/messages`, asPat, { text: 'Hello\u202e Bob' })
  const { message: fromPat } = await waiting
  expect(fromPat).toMatchObject({ kind: 'canvas_user', peer_id: 'person:pat', peer_name: 'pat', agent_card_url: null })
  await call(bob, 'reply', { activity_id: fromPat?.activity_id, message: 'Hello Pat' })
  const { content } = await bob.callTool({ name: 'chat_history', arguments: { peer_id: 'person:pat' } })
  expect(JSON.stringify(content)).toContain('> Hello\\\\u{202e} Bob')

  // Two clients of one agent, one of each era: each message is for one of them.
  const bobToo = await at.connect('auto', { agent: 'bob' })
  const asAda = await at.tokenFor('ada')
  const both = [bob, bobToo].map(client => call<Taken>(client, 'wait_for_message', { timeout_secs: 300 }))
  await Promise.all(['one', 'two'].map(text => api('/messages', asAda, { to: 'bob', text })))
  const heard = (await Promise.all(both)).map(taken => taken.message)
  expect(heard.map(one => one?.text).toSorted()).toEqual(['one', 'two'])
  for (const one of heard) await call(bob, 'inbox_pop', { activity_id: one?.activity_id })

  const question = await api('/messages', asAda, { to: 'bob', text: 'How many?' })
  const { message } = await call<Taken>(bob, 'wait_for_message', { timeout_secs: 9_999 })
  expect(message).toMatchObject({ kind: 'peer_agent', peer_name: 'ada', text: 'How many?' })
  // It is in the hands of one of them, and the other is told so until that one's session ends.
  const until = expect.any(String)
  expect(await call(bobToo, 'inbox_peek')).toMatchObject({ messages: [], held_by_others: { messages: 1, until } })
  await (bob.transport as StreamableHTTPClientTransport).terminateSession()
  expect(await call(bobToo, 'inbox_peek')).toMatchObject({ messages: [{ text: 'How many?' }], next_cursor: null })
  expect(message?.agent_card_url).toBe(`${at.up.url}/api/v1/workspaces/${message?.peer_id}/card`)
  await call(bobToo, 'reply', { activity_id: message?.activity_id, message: 'Three' })
  expect(await call(bobToo, 'inbox_pop', { activity_id: message?.activity_id })).toMatchObject({ removed: false })
  const { message: answer } = await call<Taken>(ada, 'wait_for_message')
  expect(answer).toMatchObject({ text: 'Three', in_reply_to: question.activityId })
  expect(await call(ada, 'inbox_pop', { activity_id: answer?.activity_id })).toMatchObject({ removed: true })
  const late = await call<Taken>(ada, 'wait_for_message', { timeout_secs: 1 })
  expect(late).toEqual({ message: null, note: 'No message came within 1 seconds.' })
  await expect(call(ada, 'wait_for_message', { timeout_secs: 0 })).rejects.toThrow('INPUT_INVALID')

  // Waiting calls are released when it ends, and messages leased by clients that end with it are available at once.
  await Promise.all(['three', 'four'].map(text => api('/messages', asAda, { to: 'bob', text })))
  const last = await at.connect('legacy', { agent: 'bob' })
  const { token: lent } = await at.control<{ token: string }>('lendToken', { agent: 'bob' })
  expect(await call(last, 'inbox_peek', { limit: 1 })).toMatchObject({ messages: [{}] })
  expect(await inboxOf(at.up.url, lent, '?limit=1')).toMatchObject({ messages: [{}], heldByOthers: { messages: 1 } })
  const next = await at.tokenFor('bob')
  expect(await inboxOf(at.up.url, next)).toMatchObject({ messages: [], heldByOthers: { messages: 2 } })
  const open = call<Taken>(ada, 'wait_for_message', { timeout_secs: 300 }).catch(() => 'over')
  expect(await at.up.stop()).toBe(0)
  await open
  const again = await onFixture(at.dir)
  const { messages: left } = await inboxOf(again.up.url, next)
  expect(left.map(({ text }) => text).toSorted()).toEqual(['four', 'three'])
})

it('has every message that was not acknowledged after it was killed, and none that was', async () => {
  const first = await openProcessFixture({ mcpServers: {}, agents: { bob: { capabilities: { inbox: {} } } } })
  const token = await first.tokenFor('bob')
  const { token: asPat } = await first.control<{ token: string }>('createToken', { person: 'pat' })
  const ask = async <T>(url: string, path: string, as: string, { method = 'GET', body = '' } = {}) => {
    const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/json', connection: 'close' }
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers, ...(body && { body }) })
    return (await answer.json()) as T
  }
  interface Page {
    readonly messages: readonly { readonly activityId: string; readonly text: string }[]
  }
  const { url } = first.up
  const { workspaces } = await ask<{ workspaces: { id: string; name: string }[] }>(url, '/workspaces', asPat)
  const id = workspaces.find(({ name }) => name === 'bob')?.id
  for (const text of ['handled', 'in hand', 'not seen'])
    await ask(url, `/workspaces/${id}/messages`, asPat, { method: 'POST', body: JSON.stringify({ text }) })
  const { messages } = await ask<Page>(url, '/inbox?limit=2', token)
  expect(messages.map(({ text }) => text)).toEqual(['handled', 'in hand'])
  await ask(url, `/inbox/${messages[0]?.activityId}`, token, { method: 'DELETE' })
  await first.up.kill()
  const again = await onFixture(first.dir)
  const left = await ask<Page>(again.up.url, '/inbox', token)
  expect(left.messages.map(({ text }) => text)).toEqual(['in hand', 'not seen'])
  expect(left.messages[0]?.activityId).toBe(messages[1]?.activityId)
})

it('hands messages that sessions of a killed process had in hand to the next reader at once', async () => {
  const agent = { capabilities: { inbox: {}, delegation: {} } }
  const first = await openProcessFixture({ mcpServers: {}, agents: { ada: agent, bob: agent } })
  const [asAda, asBob, next] = [await first.tokenFor('ada'), await first.tokenFor('bob'), await first.tokenFor('bob')]
  const { token: lent } = await first.control<{ token: string }>('lendToken', { agent: 'bob' })
  const ask = async (url: string, path: string, token: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
    const answer = await fetch(`${url}/api/v1${path}`, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    return (await answer.json()) as { messages: { text: string }[]; heldByOthers?: { messages: number } }
  }
  for (const text of ['for a session', 'for a lent token', 'for a token'])
    await ask(first.up.url, '/messages', asAda, { to: 'bob', text })
  const session = await first.connect('legacy', { agent: 'bob' })
  expect(await call(session, 'inbox_peek', { limit: 1 })).toMatchObject({ messages: [{ text: 'for a session' }] })
  for (const token of [lent, asBob])
    expect(await ask(first.up.url, '/inbox?limit=1', token)).toMatchObject({ messages: [{}] })
  expect(await ask(first.up.url, '/inbox', next)).toMatchObject({ messages: [], heldByOthers: { messages: 3 } })
  await first.up.kill()
  // The program with a token of its own may still be at work; a session and a lent token are gone.
  const { up } = await onFixture(first.dir)
  const { messages, heldByOthers } = await ask(up.url, '/inbox', next)
  expect(messages.map(({ text }) => text)).toEqual(['for a session', 'for a lent token'])
  expect(heldByOthers).toMatchObject({ messages: 1 })
})
