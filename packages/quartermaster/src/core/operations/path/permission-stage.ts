import { AppError } from '../../../contracts/index.ts'
import { type AgentSession, type Grant, suggestTool } from '../../agents/index.ts'
import { notOffered } from '../../catalogue/index.ts'
import type { CallRequest } from './call-request.ts'
import { checkInput } from './input-stage.ts'

/**
 * A tool that is not granted does not exist for the caller, and both get the same answer. A granted tool that is held back is
 * reported as such: an agent that has seen it before would otherwise look for its own mistake.
 */
export function permit(session: AgentSession, name: string): Grant {
  const grant = session.grant(name)
  if (grant) return grant
  const withheld = session.withheld(name)
  if (withheld) throw notOffered(name, withheld.reason ?? '')
  const { tools, unavailable, presented } = session.view()
  const names = [...tools, ...unavailable.map(({ grant }) => grant), ...presented].map(({ tool }) => tool.name)
  const hint = suggestTool(name, { names, isOffered: tool => session.grant(tool) !== undefined })
  throw new AppError('TOOL_NOT_FOUND', `"${session.caller.name}" has no tool "${name}".${hint}`)
}

/**
 * The call that a request comes to: itself, or the call that a forwarding tool passes it on to. Everything that applies to a
 * call then applies to the target, as if the caller had named it; the grant is checked for the target.
 */
export function followForward<R extends Pick<CallRequest, 'session' | 'tool' | 'input'>>(request: R): R {
  const { session } = request
  const { tool } = permit(session, request.tool)
  if (!tool.forward) return request
  const checked = checkInput(tool, request.input)
  if (checked instanceof Promise) {
    // The promise is not awaited, so its rejection has no other handler.
    checked.catch(() => {})
    throw new AppError(
      'DEFINITION_INVALID',
      `The schema of "${tool.name}" checks asynchronously, so it cannot forward.`,
    )
  }
  const next = tool.forward(checked)
  // Otherwise a call could go round in circles.
  if (session.grant(next.tool)?.tool.forward)
    throw new AppError('INPUT_INVALID', `"${next.tool}" only leads to other tools. Name the tool you want.`)
  return { ...request, tool: next.tool, input: next.input }
}
