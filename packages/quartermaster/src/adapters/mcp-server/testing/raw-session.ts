import type { HttpFront } from '../index.ts'

type Message = Record<string, unknown>

/** An answer as it was on the wire. */
export interface RawAnswer {
  readonly status: number
  readonly type: string | undefined
  readonly messages: unknown[]
}

/** A session of a client from before 2026-07-28, as it is on the wire; for what the SDK's client cannot say. */
interface RawSession {
  readonly id: string
  post(body: unknown, headers?: Record<string, string>, init?: RequestInit): Promise<Response>
  /** Sends it and reads the whole answer. Whatever the person is asked meanwhile is accepted, or answered as was said. */
  ask(body: unknown, headers?: Record<string, string>): Promise<RawAnswer>
  call(params: Message, message?: Message, headers?: Record<string, string>): Promise<RawAnswer>
  cancel(requestId: unknown): Promise<Response>
  end(): Promise<Response>
}

interface RawSessionOptions {
  readonly agent?: string
  readonly capabilities?: object
  /** What it answers when its person is asked something. */
  readonly answer?: object
}

const ACCEPTED = { result: { action: 'accept', content: {} } }

export async function openRawSession(
  front: HttpFront,
  { agent = 'worker', capabilities = {}, answer = ACCEPTED }: RawSessionOptions = {},
): Promise<RawSession> {
  const own: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer token-of-${agent}`,
  }
  const request = (method: string, headers: Record<string, string>, init: RequestInit = {}) =>
    front.handle(new Request('http://localhost/mcp', { ...init, method, headers: { ...own, ...headers } }))
  const post: RawSession['post'] = (body, headers = {}, init = {}) =>
    request('POST', headers, { ...init, body: JSON.stringify(body) })

  const clientInfo = { name: 'raw', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo }
  const opened = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  await opened.text()
  own['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? ''
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' })

  const ask: RawSession['ask'] = async (body, headers) => {
    const response = await post(body, headers)
    const messages: unknown[] = []
    for await (const message of messagesOf(response)) {
      messages.push(message)
      const { id, method } = message as Message
      if (method === 'elicitation/create') await post({ jsonrpc: '2.0', id, ...answer })
    }
    return { status: response.status, type: response.headers.get('content-type')?.split(';')[0], messages }
  }

  return {
    id: own['mcp-session-id'],
    post,
    ask,
    call: (given, message = {}, headers = {}) =>
      ask({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: given, ...message }, headers),
    cancel: requestId => post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
    end: () => request('DELETE', {}),
  }
}

/** The messages of an answer as they come, whether it is one or a stream of them. */
async function* messagesOf(response: Response): AsyncGenerator<unknown> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (!isStream) continue
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1]
      if (data !== undefined) yield JSON.parse(data)
    }
  }
  if (!isStream && text !== '') yield JSON.parse(text)
}
