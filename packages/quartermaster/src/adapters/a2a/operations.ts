import type { Agent } from './agent.ts'
import { Refusal } from './errors.ts'
import type { RequestContext } from './tasks.ts'
import { type Operation, parseRequest, REQUESTS, type RequestOf, type StreamEvent } from './wire.ts'

/** What an operation answers: one thing, or events. */
type Answer = { readonly value: object } | { readonly events: AsyncIterable<StreamEvent> }

/** Does what a client asks for, by its name; the bindings only say how that is written. */
export async function perform(agent: Agent, visit: RequestContext, name: string, params: unknown): Promise<Answer> {
  if (isOperation(name)) return run(agent, visit, name, params)
  if (name.includes('PushNotificationConfig'))
    throw new Refusal('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported. Subscribe to the task.')
  if (name === 'GetExtendedAgentCard')
    throw new Refusal('UNSUPPORTED_OPERATION', 'There is one card, and every client with a token gets it.')
  throw new Refusal('METHOD_NOT_FOUND', `There is no method "${name.slice(0, 100)}".`)
}

function isOperation(name: string): name is Operation {
  return Object.hasOwn(REQUESTS, name)
}

const HOW: {
  readonly [O in Operation]: (agent: Agent, visit: RequestContext, request: RequestOf<O>) => Promise<Answer>
} = {
  SendMessage: async (agent, visit, request) => ({ value: await agent.send(visit, request) }),
  SendStreamingMessage: async (agent, visit, request) => ({ events: await agent.stream(visit, request) }),
  GetTask: async (agent, visit, request) => ({ value: await agent.get(visit, request) }),
  ListTasks: async (agent, visit, request) => ({ value: await agent.list(visit, request) }),
  CancelTask: async (agent, visit, { id }) => ({ value: await agent.cancel(visit, id) }),
  SubscribeToTask: async (agent, visit, { id }) => ({ events: await agent.subscribe(visit, id) }),
}

function run<O extends Operation>(agent: Agent, visit: RequestContext, operation: O, params: unknown): Promise<Answer> {
  return HOW[operation](agent, visit, parseRequest(operation, params))
}
