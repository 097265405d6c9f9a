import {
  API,
  type ApiAnswer,
  type ApiOperation,
  type ApiRequest,
  type ApiRoute,
  AppError,
  type ORGANISATION_ROUTES,
} from '../../contracts/index.ts'
import { accountHandlers } from './desk-accounts.ts'
import type { DeskContext, DeskDeps, Handlers } from './desk-handlers.ts'
import { tokenHandlers } from './desk-tokens.ts'
import { visitHandlers } from './desk-visits.ts'
import { workspaceHandlers } from './desk-workspaces.ts'
import { isFor } from './tokens.ts'
import type { Visitor } from './visitors.ts'

/** Does what the API can be asked, for whoever may ask it. */
export interface ApiDesk {
  /** Throws unless this visitor may ask that; `undefined` has shown no credential that counts. */
  admit(visitor: Visitor | undefined, operation: ApiOperation): void
  answer<K extends ApiOperation>(
    operation: K,
    visitor: Visitor | undefined,
    request: ApiRequest<K>,
    context: DeskContext,
  ): Promise<ApiAnswer<K>>
}

/** How everything about organisations is answered. */
export function organisationHandlers(deps: DeskDeps): Handlers<keyof typeof ORGANISATION_ROUTES> {
  return {
    ...workspaceHandlers(deps),
    ...tokenHandlers(deps.organisation),
    ...accountHandlers(deps.organisation),
    ...visitHandlers(deps),
  }
}

/** Each part of the platform brings the handlers of its own routes. */
export function createApiDesk(handlers: Partial<Handlers>): ApiDesk {
  return {
    admit,
    async answer(operation, visitor, request, context) {
      admit(visitor, operation)
      const handle = handlers[operation] as ((...given: readonly unknown[]) => Promise<never>) | undefined
      if (!handle) throw new AppError('INTERNAL', `Nobody answers "${operation}" here.`)
      return handle(visitor, request, context)
    },
  }
}

function admit(visitor: Visitor | undefined, operation: ApiOperation): void {
  const { who, scope }: ApiRoute = API[operation]
  if (who.includes('anyone')) return
  if (!visitor) throw new AppError('TOKEN_INVALID', 'This needs a token that counts. Send "Authorization: Bearer …".')
  if (!who.includes(visitor.kind)) {
    const message = `This is for ${who.map(kind => WHO[kind]).join(' or ')}; your token is ${WHOSE[visitor.kind]}.`
    throw new AppError('REQUEST_REFUSED', message)
  }
  if (visitor.kind !== 'workspace' || scope === undefined || isFor(visitor, scope)) return
  throw new AppError('REQUEST_REFUSED', `This token is not for "${scope}". Ask for one that is.`)
}

const WHO: Readonly<Record<string, string>> = {
  owner: 'the owner of the data folder',
  person: 'persons',
  workspace: 'workspaces',
}
const WHOSE = { owner: 'the owner’s', person: 'a person’s', workspace: 'a workspace’s' } as const
