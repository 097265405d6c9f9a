import { type DependencyDefinition, defineDependency, type Secrets } from '../../core/catalogue/index.ts'
import { dependencyName } from './dependency-name.ts'
import { FIX_SECRET, foundSecret } from './needed-secret.ts'

/** A secret that a tool needs, as a dependency: while it is not there, the tool is disabled and says why. */
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
