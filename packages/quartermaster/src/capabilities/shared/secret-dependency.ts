import { type DependencyDefinition, defineDependency } from '../../core/catalogue/index.ts'
import { dependencyName } from './dependency-name.ts'

/** A secret that a tool needs, as a dependency: while it is not there, the tool is disabled and says why. */
export function secretDependency(name: string): DependencyDefinition {
  return defineDependency({
    name: dependencyName('secret', name),
    title: `The secret ${name}`,
    mend: `Add "${name}" to secrets.json in the data folder, then: quartermaster reload`,
    probe: {
      describe: { kind: 'secret', name },
      run: ({ hasSecret }) =>
        hasSecret(name) ? { up: true } : { up: false, reason: `There is no secret named "${name}".` },
    },
  })
}
