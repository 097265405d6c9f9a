import { randomUUID } from 'node:crypto'
import { Role, type SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk'
import {
  type AuthenticationHandler,
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningProduct, startWithAgents } from '../support/running-product.ts'

/** What Bob finds in his inbox. */
interface Waiting {
  readonly activityId: string
  readonly text: string
  readonly taskId: string
}

let product: RunningProduct
let address: string
let ada: string
let bob: string

beforeAll(async () => {
  product = await startWithAgents(['ada', 'bob'])
  ada = (await product.issue('ada')).token
  bob = (await product.issue('bob')).token
  const { workspace } = await asBob<{ workspace: { id: string } }>('POST', '/register', {})
  address = `${product.url}/a2a/${workspace.id}`
})
afterAll(() => product?.stop())

async function asBob<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${bob}`, 'content-type': 'application/json', connection: 'close' }
  const sent = body && { body: JSON.stringify(body) }
  const answer = await fetch(`${product.url}/api/v1${path}`, { method, headers, ...sent })
  return (await answer.json()) as T
}

async function bobTakes(): Promise<Waiting> {
  const { messages } = await asBob<{ messages: Waiting[] }>('GET', '/inbox?waitSeconds=30&limit=1')
  if (!messages[0]) throw new Error('Nothing came.')
  return messages[0]
}

async function bobSays({ activityId, taskId }: Waiting, text: string, outcome = 'completed'): Promise<void> {
  await asBob('POST', `/delegations/${taskId}/reply`, { message: text, outcome })
  await asBob('DELETE', `/inbox/${activityId}`)
}

async function connect(binding: 'JSONRPC' | 'HTTP+JSON', token = ada): Promise<Client> {
  const handler: AuthenticationHandler = {
    headers: async () => ({ Authorization: `Bearer ${token}` }),
    shouldRetryWithHeaders: async () => undefined,
  }
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, handler)
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [binding],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  )
  return factory.createFromUrl(`${address}/`)
}

function message(text: string, { taskId = '', contextId = '', atOnce = false } = {}): SendMessageRequest {
  return {
    tenant: '',
    metadata: undefined,
    configuration: {
      returnImmediately: atOnce,
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
    },
    message: {
      role: Role.ROLE_USER,
      messageId: randomUUID(),
      taskId,
      contextId,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
      extensions: [],
      metadata: undefined,
      referenceTaskIds: [],
    },
  }
}

/** A task, and nothing else: a workspace never answers with a message alone. */
async function sent(client: Client, request: SendMessageRequest): Promise<Task> {
  const answer = await client.sendMessage(request)
  if ('status' in answer) return answer
  throw new Error(`No task: ${JSON.stringify(answer)}`)
}

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('the official A2A client over %s', binding => {
  it('gives a task and has the answer', async () => {
    const client = await connect(binding)
    expect(await client.getAgentCard()).toMatchObject({ name: 'bob', capabilities: { streaming: true } })
    const answer = sent(client, message('count the boxes'))
    await bobSays(await bobTakes(), 'Seven.')
    const task = await answer
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'Seven.' })
    const again = await client.getTask({ id: task.id, tenant: '', historyLength: 1 })
    expect(again.history.map(({ role }) => role)).toEqual([Role.ROLE_AGENT])
    const { tasks, totalSize } = await client.listTasks({
      tenant: '',
      contextId: task.contextId,
      status: TaskState.TASK_STATE_COMPLETED,
      pageToken: '',
      statusTimestampAfter: undefined,
    })
    expect([tasks.map(({ id }) => id), totalSize]).toEqual([[task.id], 1])
  })

  it('is asked for input, gives it, and hears of the end in a stream', async () => {
    const client = await connect(binding)
    const answer = sent(client, message('count the boxes'))
    await bobSays(await bobTakes(), 'Which room?', 'in_progress')
    const { id: taskId, contextId, status } = await answer
    expect(status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
    const seen: string[] = []
    let reply: Promise<unknown> | undefined
    for await (const { payload } of client.sendMessageStream(message('the hall', { taskId, contextId }))) {
      seen.push(payload?.$case ?? '')
      reply ??= bobTakes().then(heard => bobSays(heard, 'Three.'))
    }
    await reply
    expect(seen).toEqual(['task', 'artifactUpdate', 'statusUpdate'])
  })

  it('cancels, and follows a task to its end', async () => {
    const client = await connect(binding)
    const { id } = await sent(client, message('count the boxes', { atOnce: true }))
    const events = client.resubscribeTask({ id, tenant: '' })[Symbol.asyncIterator]()
    expect((await events.next()).value).toMatchObject({ payload: { $case: 'task' } })
    const cancelled = await client.cancelTask({ id, tenant: '', metadata: undefined })
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    expect((await events.next()).value).toMatchObject({
      payload: { value: { status: { state: TaskState.TASK_STATE_CANCELED } } },
    })
    expect((await events.next()).done).toBe(true)
  })

  it('is told what is wrong by the names of the specification', async () => {
    const client = await connect(binding)
    const unknown = client.getTask({ id: 'task_made_up', tenant: '' })
    await expect(unknown).rejects.toMatchObject({ name: 'TaskNotFoundError' })
    const { id } = await sent(client, message('count the boxes', { atOnce: true }))
    await bobSays(await bobTakes(), 'I cannot.', 'failed')
    const over = client.cancelTask({ id, tenant: '', metadata: undefined })
    await expect(over).rejects.toMatchObject({ name: 'TaskNotCancelableError' })
    await expect(connect(binding, 'made-up')).rejects.toThrow('401')
  })
})
