import { setImmediate } from 'node:timers/promises'
import {
  type jsonSchemaValidator,
  MissingRequiredClientCapabilityError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { AppError } from '../../contracts/index.ts'
import type { Skill } from '../../core/knowledge/index.ts'
import { type AgentTools, findTool, LIST_HINT, listSkills, listTools, pageOf, versionsOf } from './agent-tools.ts'
import { withProtocolErrors } from './errors.ts'
import { askDuringRequest } from './legacy-questions.ts'
import { hasDisconnected, isModern, type McpRequest, requestOf } from './mcp-request.ts'
import { listPage, servePrompts, serveResources } from './prompts-and-resources.ts'
import { toMcpTool } from './render.ts'
import type { ServerParts } from './server-parts.ts'
import { followsTasks, TASKS_CAPABILITY, TASKS_REQUIRED } from './tasks.ts'

const CACHE_HINTS = {
  'tools/list': LIST_HINT,
  'prompts/list': LIST_HINT,
  'resources/list': LIST_HINT,
  'resources/templates/list': LIST_HINT,
}

/** A low-level MCP server over an agent's tools. Construction is cheap: requests without a session get one each. */
export function buildServer(agentTools: AgentTools, parts: ServerParts, instructions?: string): Server {
  const server = new Server(
    { name: agentTools.name, version: parts.version },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
        extensions: { ...TASKS_CAPABILITY, ...SKILLS_CAPABILITY },
      },
      cacheHints: CACHE_HINTS,
      requestState: { verify: parts.stateSigner.verify },
      // The SDK's shim fails the request when a client of the legacy era does not answer; `askWhileOpen` does not.
      inputRequired: { legacyShim: false },
      jsonSchemaValidator: TRUSTING,
      ...(instructions !== undefined && { instructions }),
    },
  )
  serveTools(server, agentTools, parts)
  serveTasks(server, agentTools, parts)
  servePrompts(server, agentTools, parts)
  serveResources(server, agentTools, parts)
  serveSkills(server, agentTools)
  return server
}

/** The core validates elicitation answers; compiling a validator here would cost more than the rest of the server. */
const TRUSTING: jsonSchemaValidator = {
  getValidator: () => value => ({ valid: true, data: value as never, errorMessage: undefined }),
}

function serveTools(server: Server, agentTools: AgentTools, parts: ServerParts): void {
  const { toolCalls, stateSigner, handovers } = parts
  server.setRequestHandler('tools/list', async ({ params }, context) => {
    const list = { cursor: params?.cursor, version: 'tools', items: () => listTools(agentTools) } as const
    const { items, ...next } = await listPage(agentTools, parts, list)
    return { tools: items.map(({ tool }) => toMcpTool(tool, { isModern: isModern(context) })), ...next }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const request = requestOf(server, context, stateSigner)
    const call = (round: McpRequest) => toolCalls.call(agentTools, params, round)
    const result = handovers?.take(context) ?? (await call(request))
    // A task is a result type of the tasks extension, which the SDK does not declare.
    return (await askDuringRequest(result, { context, request, continueWith: call }, parts)) as never
  })
}

const TaskParams = z.looseObject({ taskId: z.string().min(1).max(200) })
const anything = z.looseObject({})

/** The tasks extension: polling, answering and cancelling a call that became a task. */
function serveTasks(server: Server, agentTools: AgentTools, { tasks, stateSigner }: ServerParts): void {
  const { caller } = agentTools.session
  const enter = (context: ServerContext): McpRequest => {
    const request = requestOf(server, context, stateSigner)
    if (!followsTasks(request)) throw new MissingRequiredClientCapabilityError(TASKS_REQUIRED)
    return request
  }
  server.setRequestHandler('tasks/get', { params: TaskParams, result: anything }, async ({ taskId }, context) => {
    const request = enter(context)
    const options = {
      isDelivered: () => !hasDisconnected(request),
      toolNow: (name: string) => findTool(agentTools, name)?.tool,
    }
    return { ...(await tasks.get(caller, taskId, options)) }
  })
  server.setRequestHandler('tasks/update', { params: TaskParams, result: anything }, async ({ taskId }, context) => {
    const { inputResponses } = enter(context)
    await tasks.update(caller, taskId, inputResponses)
    return {}
  })
  server.setRequestHandler('tasks/cancel', { params: TaskParams, result: anything }, async ({ taskId }, context) => {
    enter(context)
    await tasks.cancel(caller, taskId)
    return {}
  })
}

/** The skills extension (SEP-2640). Each skill is one file, so there are no folders to read. */
const SKILLS_CAPABILITY = { 'io.modelcontextprotocol/skills': {} }

const ListParams = z.looseObject({ cursor: z.string().optional() })
const GetParams = z.looseObject({ uri: z.string() })

/** Lists an agent's skills with the digest of their text. The text itself is a resource. */
function serveSkills(server: Server, agentTools: AgentTools): void {
  server.setRequestHandler('skills/list', { params: ListParams, result: anything }, async ({ cursor }, context) => {
    const page = () => pageOf(listSkills(agentTools), versionsOf(agentTools).resources, cursor)
    const { items, ...next } = withProtocolErrors(page)
    const skills = []
    for (const item of items) {
      skills.push(toSkill(item))
      // Measuring a skill assembles its text; other requests run in between.
      await setImmediate()
    }
    return { skills, ...next, ...hintFor(context) }
  })
  server.setRequestHandler('skills/get', { params: GetParams, result: anything }, ({ uri }, context) => {
    const skill = withProtocolErrors(() => findSkill(agentTools, uri))
    return { skill: toSkill(skill), ...hintFor(context) }
  })
}

function findSkill(agentTools: AgentTools, uri: string): Skill {
  const found = listSkills(agentTools).find(skill => skill.uri === uri)
  if (found) return found
  throw new AppError('RESOURCE_NOT_FOUND', `"${agentTools.name}" has no skill at "${uri}".`, { details: { uri } })
}

/** Only the modern era has cache hints. */
function hintFor(context: ServerContext): object {
  return isModern(context) ? LIST_HINT : {}
}

function toSkill({ uri, frontmatter, measure }: Skill) {
  const { sha256, bytes } = measure()
  return { uri, frontmatter, resources: [{ uri, digest: `sha256:${sha256}`, size: bytes }] }
}
