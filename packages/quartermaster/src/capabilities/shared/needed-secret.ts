import { AppError } from '../../contracts/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { dependencyName } from './dependency-name.ts'

/** A secret at the moment it is used. Its absence is told as what it is: the dependency is down. */
export function neededSecret(secrets: Secrets, name: string): string {
  const text = secrets.get(name)
  if (text !== undefined && text !== '') return text
  const message = `There is no secret named "${name}". Add it to secrets.json in the data folder, then: quartermaster reload`
  throw new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { dependency: dependencyName('secret', name) } })
}
