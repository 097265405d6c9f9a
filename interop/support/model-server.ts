import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Script, ScriptedModel, Step, Turn } from './script.ts'

/** How one vendor's models are spoken with. */
export interface Dialect<Request> {
  /** The end of the address that requests come to. */
  readonly path: string
  turnOf(request: Request): Turn
  answer(outgoing: ServerResponse, reply: { request: Request; turn: Turn; number: number; step?: Step }): void
}

/** Plays a model in a vendor's dialect: each request is a turn, which the script answers. */
export async function startModel<Request>(dialect: Dialect<Request>, script: Script): Promise<ScriptedModel> {
  const turns: Turn[] = []
  const server = createServer(async (incoming, outgoing) => {
    const isRequest = incoming.method === 'POST' && incoming.url?.split('?')[0]?.endsWith(dialect.path)
    if (!isRequest) return void outgoing.writeHead(404).end('{}')
    const request = (await readJson(incoming)) as Request
    const turn = dialect.turnOf(request)
    turns.push(turn)
    const number = turns.length
    const step = await script(turn)
    dialect.answer(outgoing, { request, turn, number, ...(step ? { step } : {}) })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    turns,
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of incoming.setEncoding('utf8')) text += chunk
  return JSON.parse(text)
}

/** Writes a stream of server-sent events and ends it. */
export function sendEvents(outgoing: ServerResponse, events: readonly { readonly type: string }[]): void {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) outgoing.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  outgoing.end()
}

/** Answers with one object. */
export function sendJson(outgoing: ServerResponse, body: unknown): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
