/** What a request is about. */
export interface A2aPlace {
  readonly workspace: string
  readonly task: string
}

/** One request of the protocol, in one of its bindings. */
export interface A2aRequest {
  readonly name: string
  readonly method: string
  path(place: A2aPlace): string
  body?(place: A2aPlace): object
  /** Whether it names a task, so that it can be asked of another agent than its own. */
  readonly isOfTask: boolean
}

const message = (more: object = {}) => ({
  messageId: 'm-of-a-stranger',
  role: 'ROLE_USER',
  parts: [{ text: 'x' }],
  ...more,
})
const AT_ONCE = { returnImmediately: true }
const PUSH = { url: 'https://example.com/hook' }

/** What is asked for, as JSON-RPC has it. */
const CALLS: readonly [method: string, params: (task: string) => object, isOfTask: boolean][] = [
  ['SendMessage', () => ({ message: message(), configuration: AT_ONCE }), false],
  ['SendMessage', taskId => ({ message: message({ taskId }), configuration: AT_ONCE }), true],
  ['SendStreamingMessage', () => ({ message: message() }), false],
  ['SendStreamingMessage', taskId => ({ message: message({ taskId }) }), true],
  ['GetTask', id => ({ id, historyLength: 5 }), true],
  ['ListTasks', () => ({ includeArtifacts: true, historyLength: 5 }), false],
  ['CancelTask', id => ({ id }), true],
  ['SubscribeToTask', id => ({ id }), true],
  ['CreateTaskPushNotificationConfig', taskId => ({ taskId, ...PUSH }), true],
  ['GetTaskPushNotificationConfig', taskId => ({ taskId, id: 'p1' }), true],
  ['ListTaskPushNotificationConfigs', taskId => ({ taskId }), true],
  ['DeleteTaskPushNotificationConfig', taskId => ({ taskId, id: 'p1' }), true],
  ['GetExtendedAgentCard', () => ({}), false],
]

/** And as HTTP+JSON has it. */
const ROUTES: readonly [method: string, path: string, body?: (task: string) => object][] = [
  ['GET', '/.well-known/agent-card.json'],
  ['POST', '/message:send', () => ({ message: message(), configuration: AT_ONCE })],
  ['POST', '/message:send', taskId => ({ message: message({ taskId }), configuration: AT_ONCE })],
  ['POST', '/message:stream', () => ({ message: message() })],
  ['GET', '/tasks?includeArtifacts=true&historyLength=5'],
  ['GET', '/tasks/TASK'],
  ['POST', '/tasks/TASK:cancel'],
  ['POST', '/tasks/TASK:subscribe'],
  ['GET', '/tasks/TASK:subscribe'],
  ['POST', '/tasks/TASK/pushNotificationConfigs', () => PUSH],
  ['GET', '/tasks/TASK/pushNotificationConfigs'],
  ['GET', '/tasks/TASK/pushNotificationConfigs/p1'],
  ['DELETE', '/tasks/TASK/pushNotificationConfigs/p1'],
  ['GET', '/extendedAgentCard'],
]

/** Everything that A2A knows, in both bindings. */
export const A2A_REQUESTS: readonly A2aRequest[] = [
  ...CALLS.map(
    ([method, params, isOfTask]): A2aRequest => ({
      name: `${method} by JSON-RPC`,
      method: 'POST',
      path: () => '',
      body: ({ task }) => ({ jsonrpc: '2.0', id: 1, method, params: params(task) }),
      isOfTask,
    }),
  ),
  ...ROUTES.map(
    ([method, path, body]): A2aRequest => ({
      name: `${method} ${path}`,
      method,
      path: ({ task }) => path.replace('TASK', task),
      ...(body && { body: ({ task }: A2aPlace) => body(task) }),
      isOfTask: path.includes('TASK'),
    }),
  ),
]
