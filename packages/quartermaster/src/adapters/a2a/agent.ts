import { createHash } from 'node:crypto'
import {
  type ActivityRow,
  AppError,
  type DelegationRow,
  DelegationWish,
  isAppError,
  issueText,
  type MessagePart,
  type Settings,
  type Skill,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Delegations, isOpen, type ListedRow } from '../../core/delegation/index.ts'
import { type Clock, canonicalJson, firstIssues } from '../../core/kernel/index.ts'
import { type Messages, messageText } from '../../core/messages/index.ts'
import { type CardParts, cardOf } from '../../core/organisation/index.ts'
import { Refusal } from './errors.ts'
import {
  changesOf,
  listTasks,
  type RequestContext,
  taskEvents,
  toArtifacts,
  toHistory,
  toParts,
  toTask,
} from './tasks.ts'
import {
  type GetTask,
  hopsIn,
  type ListTasks,
  MOST_HISTORY,
  type Operation,
  parseRequest,
  REQUESTS,
  type RequestOf,
  type SendMessage,
  type StreamEvent,
  type Task,
} from './wire.ts'

interface AgentDeps {
  readonly delegations: Delegations
  readonly messages: Pick<Messages, 'sending' | 'history'>
  readonly clock: Clock
  readonly settings: Pick<Settings, 'delegationWaitSeconds'>
}

/** A workspace as an A2A agent: its tasks are delegations from the client. */
export interface Agent {
  /** Waits for the end or a question, up to the delegation wait time; then returns the task as it is. */
  send(context: RequestContext, request: SendMessage): Promise<{ readonly task: Task }>
  stream(context: RequestContext, request: SendMessage): Promise<AsyncIterable<StreamEvent>>
  get(context: RequestContext, request: GetTask): Promise<Task>
  list(context: RequestContext, request: ListTasks): Promise<object>
  cancel(context: RequestContext, id: string): Promise<Task>
  subscribe(context: RequestContext, id: string): Promise<AsyncIterable<StreamEvent>>
}

export function createAgent(deps: AgentDeps): Agent {
  const { delegations, messages, clock, settings } = deps

  /** A task that the asker gave the peer. Anything else under this id is not found. */
  async function taskRow({ asker, peer }: RequestContext, id: string): Promise<DelegationRow> {
    const row = await delegations.expect(asker, id).catch(ignoreUnknown)
    if (row?.fromId === asker.id && row.toId === peer.id) return row
    throw new Refusal('TASK_NOT_FOUND', `There is no task "${id.slice(0, 100)}" that you have given this agent.`)
  }

  const activityOf = (asker: WorkspaceRow, { id: taskId, conversationId }: ListedRow, limit = MOST_HISTORY) =>
    messages.history.ofTask(asker, { taskId, conversationId, limit })

  const readTask = async (context: RequestContext, row: DelegationRow, historyLength?: number) =>
    wholeTask(context, row, await activityOf(context.asker, row), historyLength)

  /** A task with its artifacts and history. */
  function wholeTask(
    { origin }: RequestContext,
    row: DelegationRow,
    activity: readonly ActivityRow[],
    historyLength = MOST_HISTORY,
  ): Task {
    const history = historyLength === 0 ? [] : toHistory(row, activity).slice(-historyLength)
    const artifacts = toArtifacts(row, origin)
    return {
      ...toTask({ row, activity }),
      ...(artifacts.length > 0 && { artifacts }),
      ...(history.length > 0 && { history }),
    }
  }

  /** A caller that receives the end as its answer needs no notification of it. */
  async function markSeen(context: RequestContext, row: DelegationRow): Promise<void> {
    if (!isOpen(row.state) && !context.disconnected.aborted) await delegations.seen(row)
  }

  /** The task that a message creates or belongs to. A repeated message is the same task. */
  async function begin(context: RequestContext, { message, configuration }: SendMessage): Promise<DelegationRow> {
    if (configuration?.taskPushNotificationConfig !== undefined)
      throw new Refusal(
        'PUSH_NOTIFICATION_NOT_SUPPORTED',
        'Push notifications are not supported. Subscribe to the task.',
      )
    const { asker, peer } = context
    const { contextId: conversationId, taskId, messageId: senderMessageId } = message
    const parts = toParts(message.parts)
    const idempotencyKey = `a2a ${peer.id} ${createHash('sha256').update(senderMessageId).digest('base64url')}`
    if (taskId !== undefined)
      return continueTask(context, { ...message, taskId }, { parts, idempotencyKey, senderMessageId })
    refuseChat(conversationId)
    const wish = checkedWish({ to: peer.id, task: messageText({ parts }), idempotencyKey })
    const more = { conversationId, senderMessageId, hopsBefore: hopsIn(message.metadata), parts: besideText(parts) }
    return (await delegations.delegate(asker, wish, more)).row
  }

  /** Sends the asker's message as a reply to the last message of the peer. */
  async function continueTask(
    context: RequestContext,
    { taskId, contextId }: { readonly taskId: string; readonly contextId?: string | undefined },
    post: TaskPost,
  ): Promise<DelegationRow> {
    const row = await taskRow(context, taskId)
    if (contextId !== undefined && contextId !== row.conversationId)
      throw new AppError('INPUT_INVALID', `message.contextId: the task "${row.id}" belongs to another context.`)
    if (await isRepeat(context, row, post)) return row
    if (!isOpen(row.state)) throw new Refusal('UNSUPPORTED_OPERATION', `The task "${row.id}" is over: ${row.state}.`)
    const asked = (await activityOf(context.asker, row)).findLast(
      ({ direction, kind }) => direction === 'in' && kind === 'peer_agent',
    )
    if (!asked)
      throw new Refusal('UNSUPPORTED_OPERATION', 'The agent has said nothing about this task yet. Wait until it asks.')
    await messages.sending.reply(context.asker, asked.id, post)
    return taskRow(context, taskId)
  }

  /** Whether this message was sent to the task before. A different message under its id is rejected. */
  async function isRepeat(
    { asker }: RequestContext,
    { id }: DelegationRow,
    { parts, idempotencyKey }: TaskPost,
  ): Promise<boolean> {
    const before = await messages.sending.sentBefore(asker, idempotencyKey)
    if (!before) return false
    if (before.delegationId === id && canonicalJson(before.parts) === canonicalJson(parts)) return true
    throw new AppError('IDEMPOTENCY_CONFLICT', 'Another message was sent with this messageId. Take a new one.')
  }

  async function eventsOf(
    context: RequestContext,
    row: DelegationRow,
    historyLength?: number,
  ): Promise<AsyncIterable<StreamEvent>> {
    const activity = await activityOf(context.asker, row)
    const task = wholeTask(context, row, activity, historyLength)
    return taskEvents({ delegations, clock, activityOf, markSeen }, context, { row, task, last: activity.at(-1) })
  }

  return {
    async send(context, request) {
      const row = await begin(context, request)
      const { returnImmediately, historyLength } = request.configuration ?? {}
      let task = await readTask(context, row, historyLength)
      let last = row
      const isAwaited = !returnImmediately && task.status.state !== 'TASK_STATE_INPUT_REQUIRED'
      const waitMs = isAwaited ? settings.delegationWaitSeconds * 1_000 : 0
      for await (const now of changesOf(delegations, clock, { row, signal: context.disconnected, waitMs })) {
        last = now
        task = await readTask(context, now, historyLength)
        if (task.status.state === 'TASK_STATE_INPUT_REQUIRED') break
      }
      await markSeen(context, last)
      return { task }
    },
    async stream(context, request) {
      const row = await begin(context, request)
      return eventsOf(context, row, request.configuration?.historyLength)
    },
    async get(context, { id, historyLength }) {
      const row = await taskRow(context, id)
      const task = await readTask(context, row, historyLength)
      await markSeen(context, row)
      return task
    },
    list: (context, request) => listTasks({ delegations, activityOf, taskRow }, context, request),
    async cancel(context, id) {
      const row = await taskRow(context, id)
      if (row.state === 'cancelled') return readTask(context, row)
      if (!isOpen(row.state)) throw notCancelable(row)
      const done = await delegations.cancel(context.asker, id).catch(error => {
        throw isAppError(error) && error.code === 'DELEGATION_ENDED' ? notCancelable(row) : error
      })
      return readTask(context, done)
    },
    async subscribe(context, id) {
      const row = await taskRow(context, id)
      if (isOpen(row.state)) return eventsOf(context, row)
      throw new Refusal('UNSUPPORTED_OPERATION', `The task "${id}" is over, and nothing happens to it. Get it instead.`)
    },
  }
}

/** A message to a task in progress. */
interface TaskPost {
  readonly parts: readonly MessagePart[]
  readonly idempotencyKey: string
  /** The client's message id. */
  readonly senderMessageId: string
}

/** Parts besides the text of the task; a single text is the task's text. */
function besideText(parts: readonly MessagePart[]): readonly MessagePart[] | undefined {
  return parts.length === 1 && parts[0]?.kind === 'text' ? undefined : parts
}

function ignoreUnknown(error: unknown): undefined {
  if (isAppError(error) && error.code === 'NAME_UNKNOWN') return undefined
  throw error
}

function notCancelable({ id }: DelegationRow): Refusal {
  return new Refusal('TASK_NOT_CANCELABLE', `The task "${id}" is over, so it cannot be cancelled.`)
}

function checkedWish(wish: DelegationWish): DelegationWish {
  const result = DelegationWish.safeParse(wish)
  if (result.success) return result.data
  throw new AppError('INPUT_INVALID', firstIssues(result.error.issues).map(issueText).join(' '))
}

/** A chat with people is no conversation between workspaces. */
function refuseChat(conversationId: string | undefined): void {
  if (!conversationId?.startsWith('chat_')) return
  throw new AppError('INPUT_INVALID', 'message.contextId: this is a chat with people. Leave it out.')
}

export const A2A_VERSION = '1.0'

/** The agent card of a workspace (§4.4.1). Its interfaces are the addresses here. */
export function agentCard(workspace: WorkspaceRow, parts: CardParts): object {
  const { name, description, version, skills } = cardOf(workspace, parts)
  const place = { url: parts.url, protocolVersion: A2A_VERSION }
  return {
    name,
    description,
    version,
    supportedInterfaces: [
      { ...place, protocolBinding: 'JSONRPC' },
      { ...place, protocolBinding: 'HTTP+JSON' },
    ],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: {
      bearer: {
        httpAuthSecurityScheme: { scheme: 'Bearer', description: 'The token of a workspace that reaches this one.' },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: (skills.length > 0 ? skills : [tasks(name, description)]).map(skill => ({
      ...skill,
      tags: skill.tags ?? [],
    })),
  }
}

/** A card needs at least one skill (§4.4.1), and an agent without tools can still be given tasks. */
function tasks(name: string, description: string): Skill {
  return { id: 'tasks', name: `Tasks for ${name}`, description, tags: ['tasks'] }
}

const MODES = ['text/plain', 'application/json']

type Answer = { readonly value: object } | { readonly events: AsyncIterable<StreamEvent> }

/** Performs an operation of the protocol, whichever binding it came by. */
export async function perform(agent: Agent, context: RequestContext, name: string, params: unknown): Promise<Answer> {
  if (isOperation(name)) return run(agent, context, name, params)
  if (name.includes('PushNotificationConfig'))
    throw new Refusal('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported. Subscribe to the task.')
  if (name === 'GetExtendedAgentCard')
    throw new Refusal('UNSUPPORTED_OPERATION', 'There is one card, and every client with a token gets it.')
  throw new Refusal('METHOD_NOT_FOUND', `There is no method "${name.slice(0, 100)}".`)
}

function isOperation(name: string): name is Operation {
  return Object.hasOwn(REQUESTS, name)
}

const HANDLERS: {
  readonly [O in Operation]: (agent: Agent, context: RequestContext, request: RequestOf<O>) => Promise<Answer>
} = {
  SendMessage: async (agent, context, request) => ({ value: await agent.send(context, request) }),
  SendStreamingMessage: async (agent, context, request) => ({ events: await agent.stream(context, request) }),
  GetTask: async (agent, context, request) => ({ value: await agent.get(context, request) }),
  ListTasks: async (agent, context, request) => ({ value: await agent.list(context, request) }),
  CancelTask: async (agent, context, { id }) => ({ value: await agent.cancel(context, id) }),
  SubscribeToTask: async (agent, context, { id }) => ({ events: await agent.subscribe(context, id) }),
}

function run<O extends Operation>(
  agent: Agent,
  context: RequestContext,
  operation: O,
  params: unknown,
): Promise<Answer> {
  return HANDLERS[operation](agent, context, parseRequest(operation, params))
}
