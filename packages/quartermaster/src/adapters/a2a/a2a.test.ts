import { describe, expect, it } from 'vitest'
import { isQuestion } from '../../core/delegation/index.ts'
import type { StreamEvent, Task } from '../../testing/a2a-fixture.ts'
import { eventsIn, openA2a, said } from '../../testing/a2a-fixture.ts'
import { deferred } from '../../testing/deferred.ts'

interface Failed {
  readonly error: { readonly code: number; readonly message: string; readonly data: readonly { reason: string }[] }
}

const AT_ONCE = { configuration: { returnImmediately: true } }

describe('the card', () => {
  it('says how a workspace is reached, to whoever reaches it', async () => {
    const at = await openA2a()
    const { status, body } = await at.hear<Record<string, unknown>>(`${at.bob.id}/.well-known/agent-card.json`, {
      headers: { 'a2a-version': '' },
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      name: 'bob',
      description: 'The workspace "bob".',
      version: '1.2.3',
      supportedInterfaces: [
        { url: `http://here/a2a/${at.bob.id}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: `http://here/a2a/${at.bob.id}`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
      securitySchemes: { bearer: { httpAuthSecurityScheme: expect.objectContaining({ scheme: 'Bearer' }) } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [{ id: 'tasks', name: 'Tasks for bob', description: 'The workspace "bob".', tags: ['tasks'] }],
    })
  })

  it('has what the view has as skills, and what the agent has said of itself, by the tags of each', async () => {
    const at = await openA2a({}, () => [{ id: 'add', name: 'Add', description: 'Adds.', tags: ['sums'] }])
    const set = { origin: 'folder' as const, card: { skills: [{ id: 'look', name: 'Look', description: '' }] } }
    await at.store.commit([{ kind: 'update', table: 'workspaces', where: { id: at.bob.id }, set }])
    const { body } = await at.hear<{ skills: object[] }>(`${at.bob.id}/.well-known/agent-card.json`)
    expect(body.skills).toEqual([
      { id: 'add', name: 'Add', description: 'Adds.', tags: ['sums'] },
      { id: 'look', name: 'Look', description: '', tags: [] },
    ])
  })
})

describe('a task', () => {
  it('is a delegation, from the message to the artifact, and is told once', async () => {
    const at = await openA2a()
    const sent = at.rpc<{ result: { task: Task } }>('SendMessage', { message: said('count the boxes') })
    const [message] = await expect
      .poll(() => at.take(at.bob))
      .toHaveLength(1)
      .then(() => at.take(at.bob))
    expect(message).toMatchObject({ kind: 'peer_agent', text: 'count the boxes', peerName: 'ada' })
    await at.delegations.replyTo(at.bob, message?.id ?? '', {
      message: 'Seven.',
      parts: [{ kind: 'data', data: { boxes: 7 } }],
    })
    const { task } = (await sent).result
    expect(task).toMatchObject({
      contextId: message?.conversationId,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ name: 'result', parts: [{ text: 'Seven.' }, { data: { boxes: 7 } }] }],
      metadata: { 'quartermaster/state': 'completed' },
    })
    expect(task.history?.map(({ role, parts }) => [role, ...parts])).toEqual([
      ['ROLE_USER', { text: 'count the boxes', mediaType: 'text/plain' }],
      [
        'ROLE_AGENT',
        { text: 'Seven.', mediaType: 'text/plain' },
        { data: { boxes: 7 }, mediaType: 'application/json' },
      ],
    ])
    // Who has got the end needs no notice of it.
    expect(await at.take(at.ada)).toEqual([])
    const again = await at.rpc<{ result: { task: Task } }>('SendMessage', { message: said('count the boxes') })
    expect(again.result.task.id).toBe(task.id)
    const other = { ...said('count the boxes'), parts: [{ text: 'count the chairs' }] }
    expect((await at.rpc<Failed>('SendMessage', { message: other })).error.data[0]?.reason).toBe('IDEMPOTENCY_CONFLICT')
  })

  it('wants input when its peer asks a question, and goes on with the answer', async () => {
    const at = await openA2a()
    const sent = at.rpc<{ result: { task: Task } }>('SendMessage', { message: said('count the boxes') })
    await expect.poll(() => at.take(at.bob)).toHaveLength(1)
    const [task] = await at.take(at.bob)
    await at.delegations.replyTo(at.bob, task?.id ?? '', { message: 'Half of them.', outcome: 'in_progress' })
    await at.delegations.replyTo(at.bob, task?.id ?? '', { message: 'Which room?', outcome: 'in_progress' })
    const { id, contextId, status } = (await sent).result.task
    expect(status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { role: 'ROLE_AGENT', taskId: id, parts: [{ text: 'Which room?' }] },
    })
    const list = (state: string) => at.rpc<{ result: { totalSize: number } }>('ListTasks', { status: state })
    expect((await list('TASK_STATE_INPUT_REQUIRED')).result.totalSize).toBe(1)

    const elsewhere = said('the hall', { taskId: id, contextId: 'another' })
    expect((await at.rpc<Failed>('SendMessage', { message: elsewhere })).error.code).toBe(-32_602)
    const answer = { message: said('the hall', { taskId: id, contextId }), ...AT_ONCE }
    const going = await at.rpc<{ result: { task: Task } }>('SendMessage', answer)
    expect(going.result.task.status).toMatchObject({ state: 'TASK_STATE_WORKING' })
    expect((await list('TASK_STATE_INPUT_REQUIRED')).result.totalSize).toBe(0)
    expect((await list('TASK_STATE_WORKING')).result.totalSize).toBe(1)
    const heard = (await at.take(at.bob)).find(({ text }) => text === 'the hall')
    expect(heard).toMatchObject({ delegationId: id })
    await at.delegations.replyTo(at.bob, heard?.id ?? '', { message: 'Three.' })
    const done = await at.rpc<{ result: Task }>('GetTask', { id, historyLength: 2 })
    expect(done.result.status.state).toBe('TASK_STATE_COMPLETED')
    expect(done.result.history?.map(({ parts }) => parts[0])).toMatchObject([{ text: 'the hall' }, { text: 'Three.' }])
    const late = await at.rpc<Failed>('SendMessage', { message: said('more', { taskId: id }) })
    expect(late.error).toMatchObject({ code: -32_004, data: [{ reason: 'UNSUPPORTED_OPERATION' }] })
  })

  it('streams what becomes of it until it is over', async () => {
    const at = await openA2a()
    const body = { message: said('count the boxes') }
    const answer = await at.ask(`${at.bob.id}/message:stream`, { method: 'POST', body })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const events = eventsIn<StreamEvent>(answer)
    const next = async () => (await events.next()).value as StreamEvent | undefined
    const first = await next()
    expect(first).toMatchObject({ task: { status: { state: 'TASK_STATE_SUBMITTED' } } })
    const id = first && 'task' in first ? first.task.id : ''
    const working = next()
    const [task] = await at.take(at.bob)
    expect(await working).toMatchObject({ statusUpdate: { taskId: id, status: { state: 'TASK_STATE_WORKING' } } })
    // Whoever comes later begins with how it is.
    const subscribed = eventsIn<StreamEvent>(await at.ask(`${at.bob.id}/tasks/${id}:subscribe`, { method: 'POST' }))
    expect((await subscribed.next()).value).toMatchObject({ task: { id, status: { state: 'TASK_STATE_WORKING' } } })
    await at.delegations.replyTo(at.bob, task?.id ?? '', { message: 'Seven.' })
    expect(await next()).toMatchObject({
      artifactUpdate: { artifact: { parts: [{ text: 'Seven.' }] }, lastChunk: true },
    })
    expect(await next()).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    expect(await next()).toBeUndefined()
    const rest: StreamEvent[] = []
    for await (const event of subscribed) rest.push(event)
    expect(rest).toHaveLength(2)
    const over = await at.hear<Failed>(`${at.bob.id}/tasks/${id}:subscribe`, { method: 'POST' })
    expect(over).toMatchObject({ status: 400, body: { error: { details: [{ reason: 'UNSUPPORTED_OPERATION' }] } } })
  })

  it('ends a stream when the token ends that it was begun with', async () => {
    const at = await openA2a()
    const body = { message: said('count the boxes') }
    const events = eventsIn<object>(await at.ask(`${at.bob.id}/message:stream`, { method: 'POST', body }))
    await events.next()
    const last = events.next()
    await at.organisation.tokens.revoke(at.adaToken)
    expect((await last).value).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } })
    expect((await events.next()).done).toBe(true)
  })

  it('tells in its stream that it has failed when its peer is archived', async () => {
    const at = await openA2a()
    const body = { message: said('count the boxes') }
    const events = eventsIn<StreamEvent>(await at.ask(`${at.bob.id}/message:stream`, { method: 'POST', body }))
    await events.next()
    const last = events.next()
    await at.organisation.workspaces.archive('default', at.bob.id)
    expect((await last).value).toMatchObject({
      statusUpdate: {
        status: { state: 'TASK_STATE_FAILED', message: { parts: [{ text: 'The workspace "bob" was archived.' }] } },
      },
    })
    expect((await events.next()).done).toBe(true)
    // Whoever only asks now and again hears of it too; for everything else the peer is not there.
    const { result } = await at.rpc<{ result: { tasks: Task[] } }>('ListTasks', {})
    expect(result.tasks).toMatchObject([{ status: { state: 'TASK_STATE_FAILED' } }])
    expect((await at.rpc<Failed>('SendMessage', { message: said('more') })).error.data[0]?.reason).toBe(
      'PEER_NOT_FOUND',
    )
    expect((await at.hear(`${at.bob.id}/.well-known/agent-card.json`)).status).toBe(404)
    const { carol } = await at.workspaces('carol')
    const { token } = await at.tokenOf(carol)
    expect((await at.hear(`${at.bob.id}/tasks`, { token })).status).toBe(404)
  })

  it('is cancelled by whoever gave it, once it is over no more, and expires as failed', async () => {
    const at = await openA2a()
    const begin = async (text: string) =>
      (await at.rpc<{ result: { task: Task } }>('SendMessage', { message: said(text), ...AT_ONCE })).result.task.id
    const [one, two] = [await begin('one'), await begin('two')]
    for (let times = 0; times < 2; times++) {
      const { body } = await at.hear<Task>(`${at.bob.id}/tasks/${one}:cancel`, { method: 'POST' })
      expect(body.status).toMatchObject({ state: 'TASK_STATE_CANCELED' })
    }
    await at.clock.advance(86_400_000)
    await at.delegations.sweep()
    const { body } = await at.hear<Task>(`${at.bob.id}/tasks/${two}`)
    // What the platform says of it is part of the conversation, and keeps nobody from going on with it.
    const next = said('three', { contextId: body.contextId })
    const third = await at.rpc<{ result: { task: Task } }>('SendMessage', { message: next, ...AT_ONCE })
    expect(third.result.task.contextId).toBe(body.contextId)
    expect(body.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining('Its deadline has passed.') }] },
    })
    expect(body.metadata).toMatchObject({ 'quartermaster/state': 'expired' })
    expect((await at.rpc<Failed>('CancelTask', { id: two })).error.code).toBe(-32_002)
  })

  it('is listed by its last change, in pages, and by context and state', async () => {
    const at = await openA2a()
    for (const text of ['one', 'two', 'three']) {
      await at.clock.advance(1_000)
      await at.rpc('SendMessage', { message: said(text, text === 'two' ? { contextId: 'ours' } : {}), ...AT_ONCE })
    }
    const list = async (query: string) =>
      (
        await at.hear<{ tasks: Task[]; nextPageToken: string; pageSize: number; totalSize: number }>(
          `${at.bob.id}/tasks?${query}`,
        )
      ).body
    const first = await list('pageSize=2&historyLength=1')
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3 })
    expect(first.tasks.map(({ history }) => history?.[0]?.parts[0])).toMatchObject([{ text: 'three' }, { text: 'two' }])
    expect(first.tasks[0]).not.toHaveProperty('artifacts')
    const second = await list(`pageSize=2&includeArtifacts=true&pageToken=${first.nextPageToken}`)
    expect(second).toMatchObject({ nextPageToken: '', tasks: [{ artifacts: [] }] })
    expect((await list('contextId=ours')).tasks).toMatchObject([{ contextId: 'ours' }])
    expect((await list('status=TASK_STATE_COMPLETED')).totalSize).toBe(0)
    expect((await list('status=TASK_STATE_SUBMITTED')).totalSize).toBe(3)
    expect((await list('status=TASK_STATE_REJECTED')).totalSize).toBe(0)
    expect((await list('statusTimestampAfter=2999-01-01T00:00:00Z')).totalSize).toBe(0)
    expect((await at.hear(`${at.bob.id}/tasks?pageSize=101`)).status).toBe(400)
    expect((await at.hear(`${at.bob.id}/tasks?pageToken=made-up`)).status).toBe(400)
  })
})

describe('what is refused', () => {
  it('is whoever is no workspace that may, in the words of HTTP', async () => {
    const at = await openA2a()
    const card = `${at.bob.id}/.well-known/agent-card.json`
    const person = await at.organisation.tokens.create({ person: 'pat' })
    const reader = await at.tokenOf(at.ada, ['read'])
    expect((await at.hear(card, { token: '' })).status).toBe(401)
    expect((await at.hear(card, { token: 'qm_made_up' })).headers.get('www-authenticate')).toContain('Bearer')
    expect((await at.hear(card, { token: person.token })).status).toBe(403)
    expect((await at.hear(card, { token: reader.token })).status).toBe(403)
    expect((await at.hear('ws_nobody/.well-known/agent-card.json')).status).toBe(404)
  })

  it('is whoever has asked too often, also who may not ask at all', async () => {
    const at = await openA2a({ requestsPerMinute: 2 })
    const { token } = await at.tokenOf(at.ada, ['read'])
    const status = async () => (await at.hear(`${at.bob.id}/tasks`, { token })).status
    expect([await status(), await status(), await status()]).toEqual([403, 403, 429])
  })

  it('is a message whose token has ended before all of it was there', async () => {
    const at = await openA2a()
    const text = JSON.stringify({ message: said('count the boxes'), ...AT_ONCE })
    const half = deferred<void>()
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from(text.slice(0, 20)))
        await half.promise
        controller.enqueue(Buffer.from(text.slice(20)))
        controller.close()
      },
    })
    const answer = at.ask(`${at.bob.id}/message:send`, { method: 'POST', body })
    await at.clock.breathe()
    await at.organisation.tokens.revoke(at.adaToken)
    half.resolve()
    expect((await answer).status).toBe(401)
    expect(await at.take(at.bob)).toEqual([])
  })

  it('is a task of others, exactly like one that is not there', async () => {
    const at = await openA2a()
    const { carol } = await at.workspaces('carol')
    const { row } = await at.delegations.delegate(carol, { to: at.bob.id, task: 'a secret' })
    const asked = async (id: string) => JSON.stringify((await at.rpc<Failed>('GetTask', { id })).error).replace(id, '')
    expect(await asked(row.id)).toBe(await asked('task_made_up'))
    expect((await at.rpc<Failed>('CancelTask', { id: row.id })).error.code).toBe(-32_001)
    expect((await at.rpc<Failed>('SubscribeToTask', { id: row.id })).error.code).toBe(-32_001)
    // A conversation of others is not theirs to join.
    const joined = { message: said('hello', { contextId: row.conversationId }) }
    expect((await at.rpc<Failed>('SendMessage', joined)).error.code).toBe(-32_602)
    const { result } = await at.rpc<{ result: { tasks: Task[] } }>('ListTasks', {})
    expect(result.tasks).toEqual([])
  })

  it('is what is in another organisation, exactly like what is not there', async () => {
    const at = await openA2a()
    await at.organisation.organisations.create({ name: 'acme' })
    await at.organisation.workspaces.create('acme', { name: 'stranger' })
    const { token } = await at.organisation.tokens.create({ agent: 'stranger', organisation: 'acme' })
    const { task } = (await at.rpc<{ result: { task: Task } }>('SendMessage', { message: said('x'), ...AT_ONCE }))
      .result
    const below = ['', '/.well-known/agent-card.json', '/tasks', `/tasks/${task.id}`, `/tasks/${task.id}:cancel`]
    for (const path of below) {
      const method = path === '' || path.endsWith(':cancel') ? 'POST' : 'GET'
      const seen = async (id: string) => {
        const { status, body } = await at.hear(`${id}${path}`, { token, method })
        return `${status} ${JSON.stringify(body)}`.replaceAll(id, '')
      }
      expect(await seen(at.bob.id)).toBe(await seen('ws_made_up'))
      expect(await seen(at.bob.id)).toContain('NAME_UNKNOWN')
    }
    expect(await at.stateOf(task.id)).toBe('pending')
  })

  it('is every version but 1.0, and none said is 0.3', async () => {
    const at = await openA2a()
    const code = async (version: string) =>
      (await at.rpc<Partial<Failed>>('ListTasks', {}, { headers: { 'a2a-version': version } })).error?.code
    expect(await Promise.all(['', '0.3', '1.1', '2.0'].map(code))).toEqual([-32_009, -32_009, -32_009, -32_009])
    expect(await Promise.all(['1.0', '1.0.1'].map(code))).toEqual([undefined, undefined])
  })

  it('has the codes of the specification', async () => {
    const at = await openA2a()
    const code = async (method: string, params: object) => (await at.rpc<Failed>(method, params)).error.code
    const file = { messageId: 'm', parts: [{ url: 'https://example.com/x.pdf' }] }
    const push = { message: said('x'), configuration: { taskPushNotificationConfig: { url: 'https://example.com' } } }
    expect(await code('SendMessage', { message: file })).toBe(-32_005)
    expect(await code('SendMessage', push)).toBe(-32_003)
    expect(await code('CreateTaskPushNotificationConfig', {})).toBe(-32_003)
    expect(await code('GetExtendedAgentCard', {})).toBe(-32_004)
    expect(await code('message/send', {})).toBe(-32_601)
    expect(await code('SendMessage', {})).toBe(-32_602)
    expect(await code('SendMessage', { message: { ...said('x'), messageId: '' } })).toBe(-32_602)
    const raw = async (body: unknown, headers = {}) =>
      (await at.hear<Failed>(at.bob.id, { method: 'POST', body, headers })).body.error.code
    expect(await raw('{')).toBe(-32_700)
    expect(await raw([{ jsonrpc: '2.0', id: 1, method: 'ListTasks' }])).toBe(-32_600)
    expect(await raw('{}', { 'content-type': 'text/plain' })).toBe(-32_005)
    const self = await at.rpc<Failed>('SendMessage', { message: said('x') }, { to: at.ada })
    expect(self.error.code).toBe(-32_602)
    for (const [method, path] of [
      ['GET', 'elsewhere'],
      ['GET', 'tasks/a:b'],
      ['POST', 'tasks/a:frob'],
    ] as const)
      expect((await at.hear(`${at.bob.id}/${path}`, { method })).status).toBe(404)
    const { status, headers } = await at.hear(`${at.bob.id}/tasks`, { method: 'DELETE' })
    expect([status, headers.get('allow')]).toEqual([405, 'GET'])
  })
})

it.each([
  ['Which room?', true],
  ['Which room? (the hall)', false],
  ['"Which room?"', true],
  ['どの部屋ですか？', true],
  ['أي غرفة؟ ', true],
  ['Half of them; more to come.', false],
])('takes %j for a question: %s', (text, answer) => {
  expect(isQuestion(text)).toBe(answer)
})
