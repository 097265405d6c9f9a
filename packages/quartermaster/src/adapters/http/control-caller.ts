import type { Context } from 'hono'
import { AppError, CONTROL, type ControlOperation, isForPersons, type PersonControl } from '../../contracts/index.ts'
import type { HttpEnv } from './context.ts'
import { bearerIn, notAdmin } from './guard.ts'

/** How persons come in with tokens of their own. */
export interface Persons {
  /** Whom a token stands for, as long as it is good. */
  holderOf(token: string): TokenBearer | undefined
  /** Resolves when what is known of a token is what counts now; nothing to wait for where it is. */
  fresh?(token: string): Promise<void> | undefined
  /** What persons may do, done as this one: in their own organisation alone. */
  controlOf(person: Person): PersonControl
}

interface TokenBearer {
  readonly organisation: string
  readonly agent?: string | undefined
  readonly person?: string | undefined
}

/** Two organisations may have persons of the same name. */
export interface Person {
  readonly organisation: string
  readonly name: string
}

/** Who knocks at the control API. */
export type ControlCaller = { readonly kind: 'owner' } | ({ readonly kind: 'person' } & Person)

export interface Doors {
  isAdmin(token: string): boolean
  readonly persons?: Persons | undefined
}

/**
 * Whose token a request shows, by what counts at this moment. Throws `TOKEN_INVALID` for everybody but the owner and persons:
 * an agent must never get to answer what it asks for itself.
 */
export function controlCallerOf(c: Context<HttpEnv>, { isAdmin, persons }: Doors): ControlCaller {
  const token = bearerIn(c)
  if (token === undefined) throw notAdmin(token)
  if (isAdmin(token)) return { kind: 'owner' }
  const holder = persons?.holderOf(token)
  if (holder?.person !== undefined) return { kind: 'person', organisation: holder.organisation, name: holder.person }
  throw holder === undefined ? unknownToken(persons) : agentsToken()
}

/** Throws `REQUEST_REFUSED` where a person asks for what is the owner's. */
export function refuseOwnersOnly(visitor: ControlCaller, operation: ControlOperation | undefined): void {
  if (visitor.kind === 'owner' || (operation !== undefined && isForPersons(operation))) return
  const open = (Object.keys(CONTROL) as ControlOperation[]).filter(isForPersons).join(', ')
  const what = operation === undefined ? 'This' : `"${operation}"`
  const message = `${what} is for the owner of the data folder. With the token of a person there are: ${open}. Ask the owner.`
  throw new AppError('REQUEST_REFUSED', message)
}

function unknownToken(persons: Persons | undefined): AppError {
  if (!persons) return notAdmin('another')
  const message = 'This is neither the admin token of the data folder nor the token of a person that counts now.'
  return new AppError('TOKEN_INVALID', `${message} The owner makes one: quartermaster tokens create --person NAME`)
}

function agentsToken(): AppError {
  const message =
    'This is the token of an agent, and agents answer nothing here. Send the admin token of the data folder'
  return new AppError('TOKEN_INVALID', `${message}, or one of a person: quartermaster tokens create --person NAME`)
}
