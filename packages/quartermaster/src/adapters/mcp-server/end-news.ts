import type { OperationSummary } from '../../contracts/index.ts'
import type { Cancel } from '../../core/kernel/index.ts'

/** What clients that are there hear of operations that ended without them. */
export interface EndNews {
  tell(operation: OperationSummary): void
  /** Calls back for every operation of an agent that ends. */
  follow(agent: string, listener: (operation: OperationSummary) => void): Cancel
}

export function createEndNews(): EndNews {
  const followers = new Map<string, Set<(operation: OperationSummary) => void>>()
  return {
    tell(operation) {
      for (const listener of [...(followers.get(operation.agent) ?? [])]) listener(operation)
    },
    follow(agent, listener) {
      const own = followers.get(agent) ?? new Set()
      followers.set(agent, own.add(listener))
      return () => {
        own.delete(listener)
        if (own.size === 0 && followers.get(agent) === own) followers.delete(agent)
      }
    },
  }
}

/** The page of an operation. */
export function operationUri(id: string): string {
  return `quartermaster://operations/${id}`
}

/** The operation that a resource address means, or nothing. */
export function parseOperationUri(uri: string): string | undefined {
  return /^quartermaster:\/\/operations\/([A-Za-z0-9_-]{1,128})$/.exec(uri)?.[1]
}

/** What a client that shows logs is told. */
export function endText({ id, tool, state, code }: OperationSummary): string {
  const why = code === undefined ? '' : ` (${code})`
  return `The operation "${id}" of "${tool}" has ended: ${state}${why}. It can be read at ${operationUri(id)}.`
}
