import { type Actor, DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'

/** The workspace that a call works for. Agents of a project folder have their places in the first organisation. */
export function actorOf({ caller, client, operationId, signal }: CallContext): Actor {
  return { organisation: DEFAULT_ORGANISATION, workspace: caller.workspace, client, operationId, signal }
}
