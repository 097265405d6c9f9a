import { createHash } from 'node:crypto'
import { AppError, Name } from '../../contracts/index.ts'
import { type DependencyDefinition, defineDependency, type Secrets } from '../../core/catalogue/index.ts'

/** A secret as a dependency: while it is missing, the tools that need it are disabled. */
export function secretDependency(name: string, secrets: Secrets): DependencyDefinition {
  return defineDependency({
    name: dependencyName('secret', name),
    title: `The secret ${name}`,
    fix: FIX_SECRET(name),
    probe: {
      describe: { kind: 'secret', name },
      run() {
        const found = foundSecret(secrets, name)
        return 'text' in found ? { up: true } : { up: false, reason: found.reason }
      },
    },
    ...(secrets.onChange && { onChange: listener => secrets.onChange?.(listener) ?? (() => {}) }),
  })
}

const FIX_SECRET = (name: string): string =>
  `Add "${name}" to secrets.json in the data folder, then: quartermaster reload`

/** A secret, or why there is none. */
function foundSecret(secrets: Secrets, name: string): { readonly text: string } | { readonly reason: string } {
  const text = secrets.get(name)
  if (text !== undefined && text !== '') return { text }
  const why = secrets.whyUnread?.()
  if (why !== undefined) return { reason: `There is no secret named "${name}", and secrets.json is not read: ${why}` }
  return { reason: text === '' ? `The secret "${name}" is empty.` : `There is no secret named "${name}".` }
}

/** Reads a secret for a call. A missing one is a dependency that is down. */
export function neededSecret(secrets: Secrets, name: string): string {
  const found = foundSecret(secrets, name)
  if ('text' in found) return found.text
  const message = `${found.reason} ${FIX_SECRET(name)}`
  throw new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { dependency: dependencyName('secret', name) } })
}

/** The shown part of a name that no dependency can have. */
const SHOWN = 40

/** The name of a dependency, different for different programs and secrets. */
export function dependencyName(kind: 'program' | 'secret', name: string): string {
  const plain = `${kind}-${name}`
  if (Name.safeParse(plain).success) return plain
  const shown = name
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(-SHOWN)
    .replace(/^[_-]+/, '')
  return `${kind}-${shown}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}
