import { API, type ApiAnswer, type ApiOperation, type ApiRequest, AppError } from '../../contracts/index.ts'
import { accountHandlers } from './desk-accounts.ts'
import type { DeskContext, DeskDeps, Handlers } from './desk-handlers.ts'
import { tokenHandlers } from './desk-tokens.ts'
import { visitHandlers } from './desk-visits.ts'
import { workspaceHandlers } from './desk-workspaces.ts'
import { isFor } from './tokens.ts'
import type { Visitor } from './visitors.ts'

/** Does what the API can be asked, for whoever may ask it. */
export interface OrganisationDesk {
  /** Throws unless this visitor may ask that; `undefined` has shown no credential that counts. */
  admit(visitor: Visitor | undefined, operation: ApiOperation): void
  answer<K extends ApiOperation>(
    operation: K,
    visitor: Visitor | undefined,
    request: ApiRequest<K>,
    context: DeskContext,
  ): Promise<ApiAnswer<K>>
}

export function createOrganisationDesk(deps: DeskDeps): OrganisationDesk {
  const handlers: Handlers = {
    ...workspaceHandlers(deps),
    ...tokenHandlers(deps.organisation),
    ...accountHandlers(deps.organisation),
    ...visitHandlers(deps),
  }
  return {
    admit,
    async answer(operation, visitor, request, context) {
      admit(visitor, operation)
      const handle = handlers[operation] as (...given: readonly unknown[]) => Promise<never>
      return handle(visitor, request, context)
    },
  }
}

function admit(visitor: Visitor | undefined, operation: ApiOperation): void {
  const route = API[operation]
  const who: readonly string[] = route.who
  if (who.includes('anyone')) return
  if (!visitor) throw new AppError('TOKEN_INVALID', 'This needs a token that counts. Send "Authorization: Bearer …".')
  if (!who.includes(visitor.kind)) {
    const message = `This is for ${who.map(kind => WHO[kind]).join(' or ')}; your token is ${WHOSE[visitor.kind]}.`
    throw new AppError('REQUEST_REFUSED', message)
  }
  if (visitor.kind !== 'workspace' || !('scope' in route) || isFor(visitor, route.scope)) return
  throw new AppError('REQUEST_REFUSED', `This token is not for "${route.scope}". Ask for one that is.`)
}

const WHO: Readonly<Record<string, string>> = {
  owner: 'the owner of the data folder',
  person: 'persons',
  workspace: 'workspaces',
}
const WHOSE = { owner: 'the owner’s', person: 'a person’s', workspace: 'a workspace’s' } as const
