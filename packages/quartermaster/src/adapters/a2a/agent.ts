import { createHash } from 'node:crypto'
import {
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
import { type Clock, canonicalJson, fewIssues } from '../../core/kernel/index.ts'
import { type Messages, messageText } from '../../core/messages/index.ts'
import { type CardParts, cardOf } from '../../core/organisation/index.ts'
import { Refusal } from './errors.ts'
import {
  changesOf,
  listTasks,
  type RequestContext,
  type TaskFacts,
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

/** A workspace as an A2A agent: its tasks are delegations of the client. */
export interface Agent {
  /** Waits until it has ended or wants something, for as long as a delegation is waited for; then answers it as it is. */
  send(visit: RequestContext, request: SendMessage): Promise<{ readonly task: Task }>
  stream(visit: RequestContext, request: SendMessage): Promise<AsyncIterable<StreamEvent>>
  get(visit: RequestContext, request: GetTask): Promise<Task>
  list(visit: RequestContext, request: ListTasks): Promise<object>
  cancel(visit: RequestContext, id: string): Promise<Task>
  subscribe(visit: RequestContext, id: string): Promise<AsyncIterable<StreamEvent>>
}

export function createAgent(deps: AgentDeps): Agent {
  const { delegations, messages, clock, settings } = deps

  /** A task that the one has given the other. Whatever else there is under this id is not there. */
  async function taskRow({ asker, peer }: RequestContext, id: string): Promise<DelegationRow> {
    const row = await delegations.expect(asker, id).catch(ignoreUnknown)
    if (row?.fromId === asker.id && row.toId === peer.id) return row
    throw new Refusal('TASK_NOT_FOUND', `There is no task "${id.slice(0, 100)}" that you have given this agent.`)
  }

  const saidOf = (asker: WorkspaceRow, { id: taskId, conversationId }: ListedRow, limit = MOST_HISTORY) =>
    messages.history.ofTask(asker, { taskId, conversationId, limit })

  const readTask = async (visit: RequestContext, row: DelegationRow, historyLength?: number) =>
    wholeTask(visit, { row, said: await saidOf(visit.asker, row) }, historyLength)

  /** All of a task. */
  function wholeTask({ origin }: RequestContext, { row, said }: WholeFacts, historyLength = MOST_HISTORY): Task {
    const history = historyLength === 0 ? [] : toHistory(row, said).slice(-historyLength)
    const artifacts = toArtifacts(row, origin)
    return {
      ...toTask({ row, said }),
      ...(artifacts.length > 0 && { artifacts }),
      ...(history.length > 0 && { history }),
    }
  }

  /** A caller that gets the end as its answer needs no notification of it. */
  async function told(visit: RequestContext, row: DelegationRow): Promise<void> {
    if (!isOpen(row.state) && !visit.gone.aborted) await delegations.seen(row)
  }

  /** The task that a message makes or belongs to. The same message is the same task. */
  async function begin(visit: RequestContext, { message, configuration }: SendMessage): Promise<DelegationRow> {
    if (configuration?.taskPushNotificationConfig !== undefined)
      throw new Refusal(
        'PUSH_NOTIFICATION_NOT_SUPPORTED',
        'Push notifications are not supported. Subscribe to the task.',
      )
    const { asker, peer } = visit
    const { contextId: conversationId, taskId, messageId: senderMessageId } = message
    const parts = toParts(message.parts)
    const idempotencyKey = `a2a ${peer.id} ${createHash('sha256').update(senderMessageId).digest('base64url')}`
    if (taskId !== undefined) return goOn(visit, { ...message, taskId }, { parts, idempotencyKey, senderMessageId })
    refuseChat(conversationId)
    const wish = checkedWish({ to: peer.id, task: messageText({ parts }), idempotencyKey })
    const more = { conversationId, senderMessageId, hopsBefore: hopsIn(message.metadata), parts: besideText(parts) }
    return (await delegations.delegate(asker, wish, more)).row
  }

  /** What the asker says to a task that is under way answers what the peer has said last. */
  async function goOn(
    visit: RequestContext,
    { taskId, contextId }: { readonly taskId: string; readonly contextId?: string | undefined },
    post: TaskPost,
  ): Promise<DelegationRow> {
    const row = await taskRow(visit, taskId)
    if (contextId !== undefined && contextId !== row.conversationId)
      throw new AppError('INPUT_INVALID', `message.contextId: the task "${row.id}" belongs to another context.`)
    if (await isRepeat(visit, row, post)) return row
    if (!isOpen(row.state)) throw new Refusal('UNSUPPORTED_OPERATION', `The task "${row.id}" is over: ${row.state}.`)
    const asked = (await saidOf(visit.asker, row)).findLast(
      ({ direction, kind }) => direction === 'in' && kind === 'peer_agent',
    )
    if (!asked)
      throw new Refusal('UNSUPPORTED_OPERATION', 'The agent has said nothing about this task yet. Wait until it asks.')
    await messages.sending.reply(visit.asker, asked.id, post)
    return taskRow(visit, taskId)
  }

  /** Whether this was said to the task before, whatever has become of it since. Another message under its id is refused. */
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
    visit: RequestContext,
    row: DelegationRow,
    historyLength?: number,
  ): Promise<AsyncIterable<StreamEvent>> {
    const said = await saidOf(visit.asker, row)
    const task = wholeTask(visit, { row, said }, historyLength)
    return taskEvents({ delegations, clock, saidOf, told }, visit, { row, task, lastSaid: said.at(-1) })
  }

  return {
    async send(visit, request) {
      const row = await begin(visit, request)
      const { returnImmediately, historyLength } = request.configuration ?? {}
      let task = await readTask(visit, row, historyLength)
      let last = row
      const isAwaited = !returnImmediately && task.status.state !== 'TASK_STATE_INPUT_REQUIRED'
      const waitMs = isAwaited ? settings.delegationWaitSeconds * 1_000 : 0
      for await (const now of changesOf(delegations, clock, { row, signal: visit.gone, waitMs })) {
        last = now
        task = await readTask(visit, now, historyLength)
        if (task.status.state === 'TASK_STATE_INPUT_REQUIRED') break
      }
      await told(visit, last)
      return { task }
    },
    async stream(visit, request) {
      const row = await begin(visit, request)
      return eventsOf(visit, row, request.configuration?.historyLength)
    },
    async get(visit, { id, historyLength }) {
      const row = await taskRow(visit, id)
      const task = await readTask(visit, row, historyLength)
      await told(visit, row)
      return task
    },
    list: (visit, request) => listTasks({ delegations, saidOf, taskRow }, visit, request),
    async cancel(visit, id) {
      const row = await taskRow(visit, id)
      if (row.state === 'cancelled') return readTask(visit, row)
      if (!isOpen(row.state)) throw notCancelable(row)
      const done = await delegations.cancel(visit.asker, id).catch(error => {
        throw isAppError(error) && error.code === 'DELEGATION_ENDED' ? notCancelable(row) : error
      })
      return readTask(visit, done)
    },
    async subscribe(visit, id) {
      const row = await taskRow(visit, id)
      if (isOpen(row.state)) return eventsOf(visit, row)
      throw new Refusal('UNSUPPORTED_OPERATION', `The task "${id}" is over, and nothing happens to it. Get it instead.`)
    },
  }
}

/** All that is on record of a task. */
interface WholeFacts extends TaskFacts {
  readonly row: DelegationRow
}

/** What is said to a task that is under way. */
interface TaskPost {
  readonly parts: readonly MessagePart[]
  readonly idempotencyKey: string
  /** What the client calls it. */
  readonly senderMessageId: string
}

/** One text is told by the words of the task. */
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
  throw new AppError('INPUT_INVALID', fewIssues(result.error.issues).map(issueText).join(' '))
}

/** The conversation of a workspace with its people is not one between workspaces. */
function refuseChat(conversationId: string | undefined): void {
  if (!conversationId?.startsWith('chat_')) return
  throw new AppError('INPUT_INVALID', 'message.contextId: this is a chat with people. Leave it out.')
}

/** The version of the protocol that is spoken here. */
export const A2A_VERSION = '1.0'

/** What clients are told of a workspace (§4.4.1). They reach it here, wherever it says that it is itself. */
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

/** A card has at least one skill (§4.4.1). An agent without tools can still be given tasks. */
function tasks(name: string, description: string): Skill {
  return { id: 'tasks', name: `Tasks for ${name}`, description, tags: ['tasks'] }
}

const MODES = ['text/plain', 'application/json']
