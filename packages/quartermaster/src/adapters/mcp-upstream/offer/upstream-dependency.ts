import { type DependencyDefinition, defineDependency } from '../../../core/catalogue/index.ts'
import type { Connection } from '../supervision/connection.ts'

/** The connection to an upstream as something that tools need. */
export interface UpstreamDependency {
  readonly definition: DependencyDefinition
  /** It stands elsewhere, so health looks again at once. */
  changed(): void
}

/** It tells by itself when it changed, so it is rarely looked at. */
export function createUpstreamDependency(name: string, look: Connection['look']): UpstreamDependency {
  const listeners = new Set<() => void>()
  const definition = defineDependency({
    name: `upstream-${name}`,
    title: `The MCP server ${name}`,
    probe: { describe: { kind: 'upstream', name }, run: ({ signal, isRequested }) => look(signal, { isRequested }) },
    mend: `See what it says: quartermaster logs ${name}`,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  })
  return {
    definition,
    changed() {
      for (const listener of [...listeners]) listener()
    },
  }
}
