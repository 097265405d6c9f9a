const PREFIX = 'upstream:'
const DEPENDENCY_PREFIX = 'upstream-'

/** The unit that a server of others is: its definitions come and go together, and what is wrong with it is told under this. */
export function upstreamUnit(name: string): string {
  return `${PREFIX}${name}`
}

/** The server of others that a unit is; nothing where it is none. */
export function upstreamIn(unit: string): string | undefined {
  return unit.startsWith(PREFIX) ? unit.slice(PREFIX.length) : undefined
}

/** What tools of a server of others need: its connection, as a dependency. */
export function upstreamDependency(name: string): string {
  return `${DEPENDENCY_PREFIX}${name}`
}

/** The server of others whose connection a dependency is; nothing where it is none. */
export function upstreamBehind(dependency: string): string | undefined {
  return dependency.startsWith(DEPENDENCY_PREFIX) ? dependency.slice(DEPENDENCY_PREFIX.length) : undefined
}
