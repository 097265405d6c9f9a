import type { Actor } from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'

/** The workspace that a call works for. */
export function actorOf({ caller, client, operationId, signal }: CallContext): Actor {
  const { organisation, workspace } = caller
  return { organisation, workspace, client, operationId, signal }
}
