// The fixtures of the conformance suite as an MCP server of its own: node server.mjs ERA [--http]. ERA is "legacy" or
// "modern", and it speaks no other. Over stdio unless --http is given; then it prints its address as its first line.
import { createServer } from 'node:http'
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { buildServer } from './fixture-server.mjs'

const [era, transport] = process.argv.slice(2)
const isModern = era === 'modern'
const servers = new Set()
let handler

const build = () => {
  const server = buildServer(announce)
  servers.add(server)
  server.onclose = () => servers.delete(server)
  return server
}

async function announce(kind) {
  const sent = [...servers].map(one => (kind === 'tools' ? one.sendToolListChanged() : one.sendPromptListChanged()))
  // A connection that is gone does not want to know.
  await Promise.allSettled(sent)
  if (kind === 'tools') handler?.notify.toolsChanged()
  else handler?.notify.promptsChanged()
}

if (transport === '--http') await listen()
else if (isModern) serveStdio(build, { legacy: 'reject' })
else await build().connect(new StdioServerTransport())

async function listen() {
  if (isModern) handler = createMcpHandler(build, { legacy: 'reject' })
  const answer = isModern ? handler.fetch : answerInSessions()
  const server = createServer(async (incoming, outgoing) => {
    const response = await answer(await requestFrom(incoming, outgoing))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    try {
      for await (const chunk of response.body ?? []) outgoing.write(chunk)
    } catch {
      // The client has gone.
    }
    outgoing.end()
  })
  server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`))
}

/** Before 2026-07-28: a connection of its own for every session. */
function answerInSessions() {
  const sessions = new Map()
  return async request => {
    const id = request.headers.get('mcp-session-id')
    if (id !== null) return sessions.get(id)?.handleRequest(request) ?? new Response('', { status: 404 })
    const session = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: given => void sessions.set(given, session),
    })
    await build().connect(session)
    return session.handleRequest(request)
  }
}

async function requestFrom(incoming, outgoing) {
  const chunks = []
  for await (const chunk of incoming) chunks.push(chunk)
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  const { method, headers, url } = incoming
  const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
  return new Request(`http://localhost${url}`, { method, headers, signal: gone.signal, ...body })
}
