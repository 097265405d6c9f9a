import { AppError } from '../../../contracts/index.ts'
import { type AgentSession, type Grant, suggestTool } from '../../agents/index.ts'
import { notOffered } from '../../catalogue/index.ts'
import type { CallRequest } from './call-request.ts'
import { checkInput } from './input-stage.ts'

/**
 * A tool that is not granted does not exist for the caller, and the two are answered alike. One that was given and is held
 * back is told as such: whoever has seen it before would otherwise look for a mistake of their own.
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
 * The call that a request comes to: itself, or the one that a forwarding tool passes it on to. Everything that holds for
 * a call is then that of the target, as if the caller had named it; whether it is granted is asked there.
 */
export function followForward<R extends Pick<CallRequest, 'session' | 'tool' | 'input'>>(request: R): R {
  const { session } = request
  const { tool } = permit(session, request.tool)
  if (!tool.forward) return request
  const checked = checkInput(tool, request.input)
  if (checked instanceof Promise) {
    // Nobody waits for it, so nobody would take its rejection.
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
