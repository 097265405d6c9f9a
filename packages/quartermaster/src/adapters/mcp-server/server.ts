import { type jsonSchemaValidator, Server } from '@modelcontextprotocol/server'
import { LIST_HINT } from './page.ts'
import { servePrompts } from './serve-prompts.ts'
import { serveResources } from './serve-resources.ts'
import { SKILLS_CAPABILITY, serveSkills } from './serve-skills.ts'
import { serveTasks } from './serve-tasks.ts'
import { serveTools } from './serve-tools.ts'
import type { ServerParts } from './server-parts.ts'
import type { Shelf } from './shelf.ts'
import { TASKS_CAPABILITY } from './task-wire.ts'

const CACHE_HINTS = {
  'tools/list': LIST_HINT,
  'prompts/list': LIST_HINT,
  'resources/list': LIST_HINT,
  'resources/templates/list': LIST_HINT,
}

/** A low-level server over a shelf. It costs next to nothing, so there is one per request where there are no sessions. */
export function buildServer(shelf: Shelf, parts: ServerParts, instructions?: string): Server {
  const server = new Server(
    { name: shelf.name, version: parts.version },
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
      requestState: { verify: parts.states.verify },
      // Clients from before 2026-07-28 are asked by ourselves.
      inputRequired: { legacyShim: false },
      jsonSchemaValidator: TRUSTING,
      ...(instructions !== undefined && { instructions }),
    },
  )
  serveTools(server, shelf, parts)
  serveTasks(server, shelf, parts)
  servePrompts(server, shelf, parts)
  serveResources(server, shelf, parts)
  serveSkills(server, shelf)
  return server
}

/** The core checks what persons answer; a validator of its own would cost every server more than all the rest of it. */
const TRUSTING: jsonSchemaValidator = {
  getValidator: () => value => ({ valid: true, data: value as never, errorMessage: undefined }),
}
