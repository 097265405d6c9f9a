import { AppError } from '../../contracts/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { dependencyName } from './dependency-name.ts'

/** What a person does about a secret that is not there. */
export const FIX_SECRET = (name: string): string =>
  `Add "${name}" to secrets.json in the data folder, then: quartermaster reload`

/** A secret, or in a sentence why there is none. */
export function foundSecret(secrets: Secrets, name: string): { readonly text: string } | { readonly reason: string } {
  const text = secrets.get(name)
  if (text !== undefined && text !== '') return { text }
  const why = secrets.whyUnread?.()
  if (why !== undefined) return { reason: `There is no secret named "${name}", and secrets.json is not read: ${why}` }
  return { reason: text === '' ? `The secret "${name}" is empty.` : `There is no secret named "${name}".` }
}

/** A secret at the moment it is used. Its absence is told as what it is: the dependency is down. */
export function neededSecret(secrets: Secrets, name: string): string {
  const found = foundSecret(secrets, name)
  if ('text' in found) return found.text
  const message = `${found.reason} ${FIX_SECRET(name)}`
  throw new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { dependency: dependencyName('secret', name) } })
}
