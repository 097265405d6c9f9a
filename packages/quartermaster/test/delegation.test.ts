import type { Client } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import type { DelegationDetail, DelegationPage, InboxMessage } from '../src/contracts/index.ts'
import { onFixture, openFixture } from './support/upstream-fixture.ts'

async function call<T>(client: Client, name: string, input: Record<string, unknown> = {}): Promise<T> {
  const { structuredContent, isError, content } = await client.callTool({ name, arguments: input })
  if (isError) throw new Error(JSON.stringify(content))
  return structuredContent as T
}

interface Task {
  readonly task_id: string
  readonly status: string
  readonly result?: string
  readonly note: string
}

interface Taken {
  readonly message: InboxMessage | null
}

it('lets two agents give each other tasks, and a person look on', async () => {
  const agent = { capabilities: { inbox: {}, delegation: {} } }
  const at = await openFixture({ mcpServers: {}, agents: { ada: agent, bob: agent } })
  const [ada, bob] = await Promise.all([at.connect('auto', { agent: 'ada' }), at.connect('legacy', { agent: 'bob' })])
  const { token: asPat } = await at.control<{ token: string }>('createToken', { person: 'pat' })
  const api = async <T>(method: string, path: string, token: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
    const sent = body ? { body: JSON.stringify(body) } : {}
    const answer = await fetch(`${at.up.url}/api/v1${path}`, { method, headers, ...sent })
    return { status: answer.status, body: (await answer.json()) as T }
  }
  const { id: bobId } = await call<{ id: string }>(bob, 'get_workspace_info')
  const { id: adaId } = await call<{ id: string }>(ada, 'get_workspace_info')

  // Waits, while other calls of the same client are answered.
  const inline = call<Task>(ada, 'delegate_task', { workspace_id: bobId, task: 'How many boxes?' })
  const { message: task } = await call<Taken>(bob, 'wait_for_message', { timeout_secs: 30 })
  expect(task).toMatchObject({ kind: 'peer_agent', text: 'How many boxes?', peer_name: 'ada' })
  expect(await call(ada, 'list_peers')).toMatchObject({ peers: expect.arrayContaining([]) })
  await expect(call(bob, 'delegate_task_async', { workspace_id: adaId, task: 'You do it' })).rejects.toThrow(
    'DELEGATION_LOOP',
  )
  const replied = (more: object) => call<{ note?: string }>(bob, 'reply', { activity_id: task?.activity_id, ...more })
  const { note } = await replied({ message: 'Which ones?', outcome: 'in_progress' })
  expect(note).toMatch(/^The task task_\S+ goes on\. Reply again with the activity_id "msg_/)
  expect(await replied({ message: 'Seven.' })).not.toHaveProperty('note')
  expect(await inline).toMatchObject({ status: 'completed', result: 'Seven.', task_id: task?.task_id })
  const { messages } = await call<{ messages: InboxMessage[] }>(ada, 'inbox_peek')
  expect(messages.map(({ kind, text }) => [kind, text])).toEqual([['peer_agent', 'Which ones?']])

  // A busy peer: what waits is no failure.
  const asBob = await at.tokenFor('bob')
  await api('POST', '/register', asBob, { capacity: 1 })
  const ask = (text: string) => call<Task>(ada, 'delegate_task_async', { workspace_id: bobId, task: text })
  const [first, second] = [await ask('one'), await ask('two')]
  expect(second).toMatchObject({ status: 'queued', note: expect.stringContaining('do not send it again') })
  const ended = api<DelegationDetail>('GET', `/delegations/${first.task_id}?waitSeconds=60`, await at.tokenFor('ada'))
  const { message: one } = await call<Taken>(bob, 'wait_for_message')
  await call(bob, 'reply', { activity_id: one?.activity_id, message: 'It broke.', outcome: 'failed' })
  expect((await ended).body).toMatchObject({ state: 'failed', error: 'It broke.', result: { text: 'It broke.' } })
  expect(await call(ada, 'check_task_status', { workspace_id: bobId, task_id: second.task_id })).toMatchObject({
    status: 'pending',
  })
  expect(await call(ada, 'cancel_task', { task_id: second.task_id })).toMatchObject({ status: 'cancelled' })
  await expect(call(bob, 'check_task_status', { workspace_id: bobId, task_id: 'task_guessed' })).rejects.toThrow(
    'NAME_UNKNOWN',
  )

  const list = await api<DelegationPage>('GET', '/delegations', asPat)
  expect(list.body.delegations.map(({ state }) => state)).toEqual(['cancelled', 'failed', 'completed'])
  expect((await api('POST', `/delegations/${first.task_id}/cancel`, asPat)).status).toBe(403)
  const listed = await at.run('delegations', 'list', '--workspace', 'bob', '--state', 'failed', '--json')
  expect(listed.json()).toMatchObject({ delegations: [{ id: first.task_id, error: 'It broke.' }], nextCursor: null })
  expect((await at.run('delegations', 'show', first.task_id)).stdout).toContain('| It broke.')
  expect((await at.run('delegations', 'cancel', first.task_id)).code).not.toBe(0)
  const late = await api('POST', `/delegations/${second.task_id}/reply`, asBob, { message: 'late' })
  expect(late).toMatchObject({ status: 409, body: { code: 'DELEGATION_ENDED' } })
  const { message: notice } = await call<Taken>(ada, 'wait_for_message')
  expect(notice?.kind).toBe('peer_agent')

  // Open tasks are there after a restart, and waiting calls are released when it ends.
  const open = call<Task>(ada, 'delegate_task', { workspace_id: bobId, task: 'three' }).catch(() => undefined)
  const { message: third } = await call<Taken>(bob, 'wait_for_message')
  expect(third?.text).toBe('three')
  // Put aside without an answer, it is still open, and its peer is told so.
  const popped = await call(bob, 'inbox_pop', { activity_id: third?.activity_id })
  expect(popped).toMatchObject({ removed: true, note: expect.stringContaining(third?.task_id ?? '?') })
  expect(await at.up.stop()).toBe(0)
  await open

  const after = await onFixture(at.dir)
  const again = (agent: string) => after.connect('auto', { agent })
  const [adaAgain, bobAgain] = await Promise.all([again('ada'), again('bob')])
  const asked = { workspace_id: bobId, task_id: third?.task_id }
  expect(await call(adaAgain, 'check_task_status', asked)).toMatchObject({ status: 'in_progress' })
  await call(bobAgain, 'reply', { activity_id: third?.activity_id, message: 'After all.' })
  expect(await call(adaAgain, 'check_task_status', asked)).toMatchObject({ status: 'completed', result: 'After all.' })
  const { messages: told } = await call<{ messages: InboxMessage[] }>(adaAgain, 'inbox_peek')
  expect(told.filter(({ kind }) => kind === 'delegation_result').map(({ text }) => text)).toContain('After all.')
})
