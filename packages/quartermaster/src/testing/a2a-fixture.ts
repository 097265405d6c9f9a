export type { StreamEvent, Task } from '../adapters/a2a/wire.ts'

import { createA2aFront } from '../adapters/a2a/index.ts'
import { createIds, silentLog } from '../adapters/system/index.ts'
import { DEFAULT_SETTINGS, type Settings, type Skill, type TokenScope, type WorkspaceRow } from '../contracts/index.ts'
import { createCancellation } from '../core/kernel/index.ts'
import { openDelegations } from './delegation-fixture.ts'

interface Asked {
  readonly token?: string | undefined
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** An answer of the front, read. */
export interface Heard<T> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}

/** Two sibling workspaces as A2A agents, and their client. */
export async function openA2a(settings: Partial<Settings> = {}, skillsOf: () => Skill[] | undefined = () => undefined) {
  const fixture = await openDelegations({ settings })
  const { organisation, delegations, messages, clock } = fixture
  const { tokens } = organisation
  const front = createA2aFront({
    organisation,
    delegations,
    messages,
    clock,
    ids: createIds(),
    log: silentLog,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    identify: token => organisation.identify(token),
    onAccessChange: organisation.onAccessChange,
    skillsOf,
    version: '1.2.3',
  })
  const { ada, bob } = await fixture.workspaces('ada', 'bob')
  const gone = createCancellation()
  const tokenOf = async (workspace: WorkspaceRow, scopes?: readonly TokenScope[]) =>
    tokens.create({ agent: workspace.workspace, ...(scopes && { scopes }) })
  const { token: asAda, facts } = await tokenOf(ada)

  /** Below the address of an agent. */
  function ask(path: string, { token = asAda, method = 'GET', headers = {}, body }: Asked = {}): Promise<Response> {
    const all = {
      'a2a-version': '1.0',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    }
    const isReady = typeof body === 'string' || body instanceof ReadableStream
    const sent = body === undefined ? {} : { body: isReady ? body : JSON.stringify(body), duplex: 'half' as const }
    return front.answer(new Request(`http://here/a2a/${path}`, { method, headers: all, ...sent }), gone.signal)
  }

  async function hear<T>(path: string, asked: Asked = {}): Promise<Heard<T>> {
    const answer = await ask(path, asked)
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as T }
  }

  async function rpc<T>(method: string, params: object, { to = bob, ...asked }: Asked & { to?: WorkspaceRow } = {}) {
    const body = { jsonrpc: '2.0', id: 7, method, params }
    return (await hear<T>(to.id, { method: 'POST', body, ...asked })).body
  }

  return { ...fixture, ada, bob, tokenOf, asAda, adaToken: facts.id, gone, ask, hear, rpc }
}

/** What a client says. */
export function said(text: string, more: object = {}) {
  return { messageId: `m-${text}`, role: 'ROLE_USER', parts: [{ text }], ...more }
}

/** The events of a stream, as they come. */
export async function* eventsIn<T>(answer: Response): AsyncGenerator<T> {
  let rest = ''
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + chunk).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1]
      if (data !== undefined) yield JSON.parse(data) as T
    }
  }
}
