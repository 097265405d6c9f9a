import { eventsIn } from '../../src/testing/a2a-fixture.ts'

interface Status {
  readonly state: string
  readonly message?: { readonly parts: readonly { readonly text: string }[] }
}

interface ToldTask {
  readonly id: string
  readonly status: Status
  readonly history?: readonly { readonly messageId: string }[]
}

type Told =
  | { readonly task: ToldTask }
  | { readonly statusUpdate: { readonly status: Status } }
  | { readonly artifactUpdate: object }

/** An agent as an A2A client sees it, by HTTP+JSON. */
export interface A2aAgent {
  /** Answers at once, however the task goes on. */
  send(text: string, more?: object): Promise<ToldTask>
  /** Waits for the end. */
  sendAndWait(text: string, more?: object): Promise<ToldTask>
  task(id: string): Promise<ToldTask>
  cancel(id: string): Promise<ToldTask>
  /** Each state that a task is in from now on, and what is said with it. */
  follow(id: string): Promise<AsyncGenerator<string>>
}

/** The agent with this address, for the holder of the token. */
export function a2aAgent(address: string, token: string): A2aAgent {
  const headers = { authorization: `Bearer ${token}`, 'a2a-version': '1.0', 'content-type': 'application/json' }
  const ask = async (path: string, { method = 'POST', body }: { method?: string; body?: object } = {}) => {
    const answer = await fetch(`${address}/${path}`, {
      method,
      // A kept connection would delay stopping the server.
      headers: { ...headers, connection: 'close' },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer
  }
  const heard = async <T>(answer: Promise<Response>) => (await (await answer).json()) as T
  const messageWith = (text: string, more: object) => ({
    messageId: `m-${text}`,
    role: 'ROLE_USER',
    parts: [{ text }],
    ...more,
  })
  const sent = async (text: string, more: object, returnImmediately: boolean) => {
    const body = { message: messageWith(text, more), configuration: { returnImmediately } }
    return (await heard<{ task: ToldTask }>(ask('message:send', { body }))).task
  }
  return {
    send: (text, more = {}) => sent(text, more, true),
    sendAndWait: (text, more = {}) => sent(text, more, false),
    task: id => heard(ask(`tasks/${id}`, { method: 'GET' })),
    cancel: id => heard(ask(`tasks/${id}:cancel`)),
    async follow(id) {
      return statesIn(await ask(`tasks/${id}:subscribe`))
    },
  }
}

async function* statesIn(answer: Response): AsyncGenerator<string> {
  for await (const told of eventsIn<Told>(answer)) {
    if ('artifactUpdate' in told) continue
    const { state, message } = 'task' in told ? told.task.status : told.statusUpdate.status
    yield [state.replace('TASK_STATE_', ''), ...(message?.parts.map(({ text }) => text) ?? [])].join(': ')
  }
}
