// An ordinary MCP server of either era, made with the official SDK: node sdk-server.mjs [--http] [FLAG …]. Over stdio unless
// --http is given; then it prints its address as its first line.
//
//   --name=TEXT       what it says it is called ("sdk-server")
//   --text=TEXT       the description of its tool "echo"; that of the variable ECHO_TEXT, if it is set
//   --extra=NAME      one more tool of that name
//   --definitions=FILE  tools from a JSON file, read whenever it is asked, instead of its own; calling one echoes. It
//                     tells when the file has changed
//   --log=FILE        appends a line for every call it carries out
//   --port=N          where it listens (any free port)
//   --token=TEXT      refuses whoever does not bring this token (--http)
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const flags = new Map(
  process.argv.slice(2).map(flag => {
    const [, name, value = ''] = /^--([\w-]+)(?:=(.*))?$/s.exec(flag) ?? []
    return [name, value]
  }),
)
const text = value => ({ content: [{ type: 'text', text: value }] })
const object = (properties = {}) => ({ type: 'object', properties, required: Object.keys(properties) })
let counted = 0
const extras = []
const servers = new Set()

const ask = (key, request) => (_args, context) => {
  const given = inputResponse(context.mcpReq.inputResponses, key)
  if (given.kind === 'missing') return inputRequired({ inputRequests: { [key]: request } })
  return text(JSON.stringify(given))
}

const form = inputRequired.elicit({
  message: 'What is your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
})

const TOOLS = {
  echo: {
    description: process.env.ECHO_TEXT ?? flags.get('text') ?? 'Says the same.',
    inputSchema: object({ text: { type: 'string' } }),
    annotations: { readOnlyHint: true },
    run: ({ text: said }) => text(said),
  },
  add: {
    description: 'Adds two numbers.',
    inputSchema: object({ a: { type: 'number' }, b: { type: 'number' } }),
    outputSchema: object({ sum: { type: 'number' } }),
    annotations: { readOnlyHint: true },
    run: ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b }, _meta: { 'desk/sum': a + b } }),
  },
  count: {
    description: 'Counts its calls.',
    inputSchema: object(),
    run: () => text(String(++counted)),
  },
  erase: {
    description: 'Erases everything.',
    inputSchema: object(),
    annotations: { destructiveHint: true },
    run: () => text('erased'),
  },
  pictures: {
    description: 'One of each kind of content.',
    inputSchema: object(),
    annotations: { readOnlyHint: true },
    run: () => ({
      content: [
        { type: 'text', text: 'a text', annotations: { audience: ['user'] }, _meta: { 'desk/x': 1 } },
        { type: 'image', data: 'aGk=', mimeType: 'image/png' },
        { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'desk://a', mimeType: 'text/plain', text: 'inside' } },
        { type: 'resource_link', uri: 'desk://a', name: 'a', mimeType: 'text/plain' },
      ],
      _meta: { 'desk/whole': true },
    }),
  },
  no: { description: 'Says no.', inputSchema: object(), run: () => ({ ...text('No.'), isError: true }) },
  breaks: {
    description: 'Breaks.',
    inputSchema: object(),
    run() {
      throw new Error('It broke.')
    },
  },
  ask: { description: 'Asks for a name.', inputSchema: object(), run: ask('name', form) },
  folders: { description: 'Asks for folders.', inputSchema: object(), run: ask('roots', inputRequired.listRoots()) },
  sample: {
    description: 'Asks the language model.',
    inputSchema: object(),
    run: ask(
      'model',
      inputRequired.createMessage({
        messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
        maxTokens: 5,
      }),
    ),
  },
  slow: {
    description: 'Takes its time, and says how far it is.',
    inputSchema: object(),
    annotations: { readOnlyHint: true },
    async run(_args, { mcpReq }) {
      const { progressToken } = mcpReq._meta ?? {}
      const tell = progress =>
        mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 2, message: `step ${progress}` },
        })
      if (progressToken !== undefined) for (const step of [1, 2]) await tell(step)
      return text('done')
    },
  },
  wait: {
    description: 'Waits until it is cancelled.',
    inputSchema: object(),
    annotations: { readOnlyHint: true },
    run: (_args, { mcpReq }) =>
      new Promise((_, reject) => {
        mcpReq.signal.addEventListener('abort', () => {
          note('cancelled')
          reject(new Error('cancelled'))
        })
      }),
  },
  speak: {
    description: 'Writes to its log.',
    inputSchema: object(),
    annotations: { readOnlyHint: true },
    async run(_args, { mcpReq }) {
      await mcpReq.log('info', 'a word from the server')
      return text('said')
    },
  },
  environment: {
    description: 'The names of its variables.',
    inputSchema: object(),
    annotations: { readOnlyHint: true },
    run: () => text(JSON.stringify({ names: Object.keys(process.env).sort(), cwd: process.cwd(), pid: process.pid })),
  },
  variable: {
    description: 'One of its variables.',
    inputSchema: object({ name: { type: 'string' } }),
    annotations: { readOnlyHint: true },
    run: ({ name }) => text(process.env[name] ?? ''),
  },
  exit: { description: 'Ends its process.', inputSchema: object(), run: () => process.exit(3) },
  grow: {
    description: 'Gets one more tool.',
    inputSchema: object({ name: { type: 'string' } }),
    async run({ name }) {
      extras.push(name)
      await changed()
      return text('grown')
    },
  },
  touch: {
    description: 'Changes what can be read at desk://a.',
    inputSchema: object(),
    async run() {
      for (const one of servers) await one.sendResourceUpdated({ uri: 'desk://a' }).catch(() => {})
      handler?.notify.resourceUpdated('desk://a')
      return text('touched')
    },
  },
}

async function changed() {
  for (const one of servers) await one.sendToolListChanged().catch(() => {})
  handler?.notify.toolsChanged()
}

function note(line) {
  const file = flags.get('log')
  if (file) appendFileSync(file, `${line}\n`)
}

const written = () => readFileSync(flags.get('definitions'), 'utf8')
const definitions = () => (flags.has('definitions') ? JSON.parse(written()) : undefined)

/** By what is in the file: a watch that begins late takes a file that has changed for the first one. */
function watchDefinitions() {
  let known = written()
  const look = () => {
    const now = written()
    if (now !== known) void changed()
    known = now
  }
  setInterval(look, 50).unref()
}
if (flags.has('definitions')) watchDefinitions()

const ownTools = () => Object.entries(TOOLS).map(([name, { run: _run, ...tool }]) => ({ name, ...tool }))
const extraTools = () =>
  [...extras, ...(flags.has('extra') ? [flags.get('extra')] : [])].map(name => ({
    name,
    description: `The tool ${name}.`,
    inputSchema: object(),
  }))

function build() {
  const server = new Server(
    { name: flags.get('name') ?? 'sdk-server', version: '1.2.3', title: 'The desk' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: { subscribe: true },
        completions: {},
        logging: {},
      },
      instructions: 'Ask at the desk.',
    },
  )
  server.setRequestHandler('tools/list', () => ({ tools: definitions() ?? [...ownTools(), ...extraTools()] }))
  server.setRequestHandler('tools/call', (request, context) => {
    const { name, arguments: args = {} } = request.params
    note(name)
    if (definitions()) return text(JSON.stringify(args))
    if (extraTools().some(tool => tool.name === name)) return text(`this is ${name}`)
    return TOOLS[name].run(args, context)
  })
  server.setRequestHandler('prompts/list', () => ({
    prompts: [
      { name: 'greet', description: 'A greeting.', arguments: [{ name: 'who', description: 'Whom.', required: true }] },
    ],
  }))
  server.setRequestHandler('prompts/get', ({ params }) => ({
    description: 'A greeting.',
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${params.arguments?.who}.` } }],
    _meta: { 'desk/prompt': true },
  }))
  server.setRequestHandler('resources/list', () => ({
    resources: [{ uri: 'desk://a', name: 'a', mimeType: 'text/plain', annotations: { priority: 1 } }],
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'desk://files/{+path}', name: 'file', description: 'Any file.' }],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: `read ${uri}`, _meta: { 'desk/read': true } }],
  }))
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
  server.setRequestHandler('logging/setLevel', () => ({}))
  server.setRequestHandler('completion/complete', ({ params: { argument } }) => ({
    completion: { values: ['Ada', 'Alan', 'Bob'].filter(name => name.startsWith(argument.value)) },
  }))
  servers.add(server)
  server.onclose = () => servers.delete(server)
  return server
}

let handler
if (!flags.has('http')) serveStdio(build)
else await listen()

async function listen() {
  handler = createMcpHandler(() => build(), { legacy: 'reject' })
  const sessions = new Map()
  const legacy = async request => {
    const known = sessions.get(request.headers.get('mcp-session-id'))
    if (request.headers.has('mcp-session-id'))
      return known ? known.handleRequest(request) : new Response('', { status: 404 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: id => void sessions.set(id, transport),
    })
    await build().connect(transport)
    return transport.handleRequest(request)
  }
  const server = createServer(async (incoming, outgoing) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    if (incoming.url === '/forget') sessions.clear()
    note(`authorization: ${incoming.headers.authorization ?? 'none'}`)
    if (flags.has('token') && incoming.headers.authorization !== `Bearer ${flags.get('token')}`)
      return outgoing.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    const request = new Request(`http://localhost${incoming.url}`, {
      method: incoming.method,
      headers: incoming.headers,
      signal: gone.signal,
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    })
    const isOld = incoming.method !== 'POST' || (await isLegacyRequest(request))
    const answer = await (isOld ? legacy(request) : handler.fetch(request))
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
    try {
      for await (const chunk of answer.body ?? []) outgoing.write(chunk)
    } catch {
      // The client has gone.
    }
    outgoing.end()
  })
  server.listen(Number(flags.get('port') ?? 0), '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`)
  })
}
