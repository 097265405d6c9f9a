import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { A2A_PROTOCOL_VERSION, type AgentCard, type Message, type Part, Role, type Task, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  type RequestContext,
  type TaskStore,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'

export type Binding = 'JSONRPC' | 'HTTP+JSON'

export interface AgentOptions {
  readonly bindings?: readonly Binding[]
  readonly streaming?: boolean
  /** It lets in whoever sends exactly this. */
  readonly key?: { readonly header: string; readonly value: string }
  readonly port?: number
  /** What it remembers of its tasks, for one that is started again. */
  readonly memory?: Map<string, Task>
}

/** An agent of the official SDK, as anybody writes one. */
export interface A2aAgent {
  readonly url: string
  readonly port: number
  readonly memory: Map<string, Task>
  /** The message ids that it was given tasks with, each time it was. */
  readonly begun: readonly string[]
  /** Lets those go on that were told to wait. */
  goOn(): void
  /** Cuts all connections and is gone. */
  stop(): Promise<void>
}

/**
 * Does what the first word of a task says: `ask` wants to know something first, `wait` waits until it is let go on or cancelled,
 * `fail`, `reject` and `login` end so, `words` answers with a message and no task, everything else is done at once.
 */
class Scripted implements AgentExecutor {
  readonly begun: string[] = []
  readonly #cancelled = new Set<string>()
  #go = deferred()

  goOn(): void {
    this.#go.resolve()
    this.#go = deferred()
  }

  cancelTask = async (taskId: string, bus: ExecutionEventBus): Promise<void> => {
    this.#cancelled.add(taskId)
    bus.publish(AgentEvent.statusUpdate(statusOf(taskId, '', TaskState.TASK_STATE_CANCELED)))
    bus.finished()
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const { taskId, contextId, userMessage, task } = context
    const said = textOf(userMessage)
    const [first = ''] = said.split(' ')
    const status = (state: TaskState, words?: string) =>
      bus.publish(AgentEvent.statusUpdate(statusOf(taskId, contextId, state, words)))
    this.begun.push(userMessage.messageId)
    if (first === 'words') {
      bus.publish(AgentEvent.message(messageOf('', contextId, 'Just words.')))
      return bus.finished()
    }
    bus.publish(AgentEvent.task(task ?? newTask(taskId, contextId, userMessage)))
    if (first === 'fail') return end(bus, () => status(TaskState.TASK_STATE_FAILED, 'No paint.'))
    if (first === 'reject') return end(bus, () => status(TaskState.TASK_STATE_REJECTED, 'Not mine.'))
    if (first === 'login') return end(bus, () => status(TaskState.TASK_STATE_AUTH_REQUIRED, 'Who are you?'))
    if (first === 'ask' && !task) return end(bus, () => status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which colour?'))
    status(TaskState.TASK_STATE_WORKING, 'mixing colours')
    if (first === 'wait') await this.#go.promise
    if (this.#cancelled.has(taskId)) return
    const piece = (artifactId: string, parts: Part[], append = false) =>
      bus.publish(AgentEvent.artifactUpdate(artifactOf({ taskId, contextId, artifactId, parts, append })))
    piece('painting', [textPart('A painting of ')])
    piece('painting', [textPart(said)], true)
    piece('facts', [dataPart({ strokes: 7 }), filePart('tree.txt', 'a tree'), linkPart('https://example.com/tree.png')])
    end(bus, () => status(TaskState.TASK_STATE_COMPLETED))
  }
}

/** A promise, and whoever keeps it. */
function deferred(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = () => {}
  const promise = new Promise<void>(kept => (resolve = kept))
  return { promise, resolve }
}

function end(bus: ExecutionEventBus, last: () => void): void {
  last()
  bus.finished()
}

export async function startAgent(options: AgentOptions = {}): Promise<A2aAgent> {
  const { bindings = ['JSONRPC', 'HTTP+JSON'], streaming = true, key, memory = new Map<string, Task>() } = options
  const executor = new Scripted()
  const app = express()
  const server = createServer(app)
  const sockets = new Set<Socket>()
  server.on('connection', socket => void sockets.add(socket).size)
  await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const handler = new DefaultRequestHandler(cardOf(url, { bindings, streaming }), storeIn(memory), executor)
  const user = { requestHandler: handler, userBuilder: UserBuilder.noAuthentication }
  app.use((request, response, next) => {
    if (key && request.headers[key.header] !== key.value) response.status(401).end()
    else next()
  })
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: handler }))
  app.use('/rpc', jsonRpcHandler(user))
  app.use('/rest', restHandler(user))
  return {
    url,
    port,
    memory,
    begun: executor.begun,
    goOn: () => executor.goOn(),
    stop: () => closed(server, sockets),
  }
}

function storeIn(memory: Map<string, Task>): TaskStore {
  return {
    load: async id => structuredClone(memory.get(id)),
    save: async task => void memory.set(task.id, structuredClone(task)),
    async list() {
      throw new Error('nobody lists here')
    },
  }
}

function closed(server: Server, sockets: Iterable<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy()
  return new Promise(resolve => server.close(() => resolve()))
}

function cardOf(url: string, { bindings, streaming }: { bindings: readonly Binding[]; streaming: boolean }): AgentCard {
  const paths = { JSONRPC: 'rpc', 'HTTP+JSON': 'rest' } as const
  return {
    name: 'painter',
    description: 'Paints\u202e what it is told.',
    version: '0.1.0',
    provider: { organization: 'x', url },
    supportedInterfaces: bindings.map(binding => ({
      url: `${url}/${paths[binding]}`,
      protocolBinding: binding,
      tenant: '',
      protocolVersion: A2A_PROTOCOL_VERSION,
    })),
    capabilities: { streaming, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 'paint',
        name: 'Paint',
        description: 'Paints.',
        tags: [],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    documentationUrl: '',
    signatures: [],
  }
}

function textOf({ parts }: Message): string {
  return parts
    .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
    .join(' ')
    .trim()
}

const about = { metadata: undefined, filename: '', mediaType: '' }
const textPart = (value: string): Part => ({ ...about, content: { $case: 'text', value } })
const dataPart = (value: unknown): Part => ({ ...about, content: { $case: 'data', value } })
const linkPart = (value: string): Part => ({ ...about, filename: 'tree.png', content: { $case: 'url', value } })
const filePart = (filename: string, text: string): Part => ({
  ...about,
  filename,
  mediaType: 'text/plain',
  content: { $case: 'raw', value: Buffer.from(text) },
})

function newTask(id: string, contextId: string, message: Message): Task {
  const status = { state: TaskState.TASK_STATE_SUBMITTED, timestamp: new Date().toISOString(), message: undefined }
  return { id, contextId, status, artifacts: [], history: [message], metadata: undefined }
}

function messageOf(taskId: string, contextId: string, words: string): Message {
  const parts = [textPart(words)]
  const rest = { extensions: [], metadata: undefined, referenceTaskIds: [] }
  return { role: Role.ROLE_AGENT, messageId: randomUUID(), parts, taskId, contextId, ...rest }
}

function statusOf(taskId: string, contextId: string, state: TaskState, words?: string) {
  const message = words === undefined ? undefined : messageOf(taskId, contextId, words)
  return { taskId, contextId, metadata: undefined, status: { state, timestamp: new Date().toISOString(), message } }
}

interface Piece {
  readonly taskId: string
  readonly contextId: string
  readonly artifactId: string
  readonly parts: Part[]
  readonly append: boolean
}

function artifactOf({ artifactId, parts, ...place }: Piece) {
  const artifact = { artifactId, name: artifactId, description: '', parts, metadata: undefined, extensions: [] }
  return { ...place, lastChunk: true, metadata: undefined, artifact }
}
