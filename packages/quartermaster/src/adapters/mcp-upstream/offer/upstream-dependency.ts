import { type DependencyDefinition, defineDependency } from '../../../core/catalogue/index.ts'
import { upstreamDependency } from '../../../core/kernel/index.ts'
import { createListeners } from '../listeners.ts'
import type { Connection } from '../supervision/connection.ts'

/** The connection to an upstream as something that tools need. */
export interface UpstreamDependency {
  readonly definition: DependencyDefinition
  /** It stands elsewhere, so health looks again at once. */
  changed(): void
}

/** It tells by itself when it changed, so it is rarely looked at. */
export function createUpstreamDependency(name: string, look: Connection['look']): UpstreamDependency {
  const listeners = createListeners()
  const definition = defineDependency({
    name: upstreamDependency(name),
    title: `The MCP server ${name}`,
    probe: {
      describe: { kind: 'upstream', name },
      run: ({ signal, isRequested, isAwaited }) => look(signal, { isRequested, isAwaited }),
    },
    fix: `See what it says: quartermaster logs ${name}`,
    onChange: listeners.add,
  })
  return { definition, changed: listeners.tell }
}
