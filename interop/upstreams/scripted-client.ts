import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import type { FrontEra } from '../../packages/quartermaster/test/support/passed-on.ts'
import { createWireTap, tappedFetch, type WireTap } from '../../packages/quartermaster/test/support/wire-tap.ts'
import { type Program, tappedStdio } from './tapped-stdio.ts'

export type { FrontEra }

/** A client that answers whatever it is asked, always the same, and remembers what that was. */
export interface ScriptedClient {
  readonly client: Client
  /** What is before the server's own names. */
  readonly prefix: string
  /** Everything it was asked, in order. */
  readonly questions: readonly Question[]
  /** Addresses it was told have changed. */
  readonly updates: readonly string[]
  /** What it was told that the server logs. */
  readonly logs: readonly unknown[]
  /** The result of the newest request of a method, as it stood on the wire. */
  resultOf(method: string): string
  /** Asks what the client has no words for. */
  ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>>
  close(): Promise<void>
}

export interface Question {
  readonly method: string
  readonly params: Record<string, unknown>
}

/** Connects to a server from before 2026-07-28 without anything in between. */
export function connectDirectly(server: Program | { readonly url: string }): Promise<ScriptedClient> {
  const tap = createWireTap()
  const transport =
    'url' in server
      ? new StreamableHTTPClientTransport(new URL(server.url), { fetch: tappedFetch(tap) })
      : tappedStdio(server, tap)
  return connect({ transport, tap, era: 'legacy', prefix: '' })
}

export interface GatewayFacts {
  readonly mcpUrl: string
  readonly token: string
  readonly era: FrontEra
  readonly prefix: string
}

/** Connects to the gateway that has the program behind it. */
export function connectThrough({ mcpUrl, token, era, prefix }: GatewayFacts): Promise<ScriptedClient> {
  const tap = createWireTap()
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit, fetch: tappedFetch(tap) })
  return connect({ transport, tap, era, prefix })
}

interface Connecting {
  readonly transport: Transport
  readonly tap: WireTap
  readonly era: FrontEra
  readonly prefix: string
}

async function connect({ transport, tap, era, prefix }: Connecting): Promise<ScriptedClient> {
  const client = new Client(
    { name: 'scripted', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    },
  )
  const questions = answerEverything(client)
  const updates: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params.uri))
  const logs: unknown[] = []
  client.setNotificationHandler('notifications/message', ({ params }) => void logs.push(params))
  await client.connect(transport)
  return {
    client,
    prefix,
    questions,
    updates,
    logs,
    resultOf: tap.resultOf,
    ask: (method, params) => client.request({ method, params }, ANYTHING) as Promise<Record<string, unknown>>,
    close: () => client.close(),
  }
}

const ANYTHING = {
  '~standard': {
    version: 1 as const,
    vendor: 'anything',
    validate: (value: unknown) => ({ value: value as Record<string, unknown> }),
  },
}

function answerEverything(client: Client): Question[] {
  const questions: Question[] = []
  const note = ({ method, params }: { method: string; params?: unknown }) =>
    void questions.push({ method, params: { ...(params as Record<string, unknown>) } })
  client.setRequestHandler('elicitation/create', request => {
    note(request)
    if (request.params.mode === 'url') return { action: 'accept' }
    return {
      action: 'accept',
      content: { name: 'Ada', check: true, integer: 7, email: 'ada@example.com', interpretation: 'snake' },
    }
  })
  client.setRequestHandler('sampling/createMessage', request => {
    note(request)
    const content = { type: 'text' as const, text: 'As you like it.' }
    return { role: 'assistant', content, model: 'scripted', stopReason: 'endTurn' }
  })
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home/ada', name: 'Home' }] }))
  return questions
}
