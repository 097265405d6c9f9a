import { MissingRequiredClientCapabilityError, type Server, type ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { hasGone, type McpRequest, requestOf } from './mcp-request.ts'
import type { ServerParts } from './server-parts.ts'
import { find, type Shelf } from './shelf.ts'
import { followsTasks, TASKS_REQUIRED } from './task-wire.ts'

const TaskParams = z.looseObject({ taskId: z.string().min(1).max(200) })
const anything = z.looseObject({})

/** The tasks extension: looking after a call that takes its time. */
export function serveTasks(server: Server, shelf: Shelf, { tasks, states }: ServerParts): void {
  const { caller } = shelf.seat
  const enter = (context: ServerContext): McpRequest => {
    const request = requestOf(server, context, states)
    if (!followsTasks(request)) throw new MissingRequiredClientCapabilityError(TASKS_REQUIRED)
    return request
  }
  server.setRequestHandler('tasks/get', { params: TaskParams, result: anything }, async ({ taskId }, context) => {
    const request = enter(context)
    const look = { isHeard: () => !hasGone(request), toolNow: (name: string) => find(shelf, name)?.tool }
    return { ...(await tasks.get(caller, taskId, look)) }
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
