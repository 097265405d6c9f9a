import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import { object } from './fixtures/answers.mjs'
import { stateCodec } from './fixtures/asking.mjs'
import { CHANGES, changingPrompts, changingTools } from './fixtures/changes.mjs'
import { CONTENT } from './fixtures/content.mjs'
import { PROMPTS } from './fixtures/prompts.mjs'
import { QUESTIONS } from './fixtures/questions.mjs'
import { RESOURCES, readResource, TEMPLATES } from './fixtures/resources.mjs'
import { TASKS } from './fixtures/tasks.mjs'

const tools = () => new Map([...Object.entries({ ...CONTENT, ...QUESTIONS, ...TASKS, ...CHANGES }), ...changingTools()])
const prompts = () => new Map([...Object.entries(PROMPTS), ...changingPrompts()])

/** One server with everything that the suite wants to find. `announce(kind)` tells all clients that a list changed. */
export function buildServer(announce) {
  const server = new Server(
    { name: 'conformance-fixtures', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: stateCodec.verify },
    },
  )
  serveTools(server, announce)
  servePrompts(server)
  serveResources(server)
  return server
}

function serveTools(server, announce) {
  server.setRequestHandler('tools/list', () => ({
    tools: [...tools()].map(([name, { run: _run, ...tool }]) => ({
      name,
      inputSchema: object(),
      annotations: { readOnlyHint: true },
      ...tool,
    })),
  }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const client = () => context.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}
    return found(tools(), params.name).run(params.arguments ?? {}, { ...context, announce, client })
  })
}

function servePrompts(server) {
  server.setRequestHandler('prompts/list', () => ({
    prompts: [...prompts()].map(([name, { get: _get, suggest: _suggest, ...prompt }]) => ({ name, ...prompt })),
  }))
  server.setRequestHandler('prompts/get', ({ params }, context) =>
    found(prompts(), params.name).get(params.arguments ?? {}, context),
  )
  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) => ({
    completion: { values: prompts().get(ref.name)?.suggest?.(argument.value) ?? [] },
  }))
}

function serveResources(server) {
  server.setRequestHandler('resources/list', () => ({ resources: RESOURCES }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: TEMPLATES }))
  server.setRequestHandler('resources/read', ({ params }) => readResource(params.uri))
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
}

function found(all, name) {
  const one = all.get(name)
  if (!one) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no "${name}".`)
  return one
}
