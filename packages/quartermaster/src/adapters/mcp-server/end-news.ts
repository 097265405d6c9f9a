import type { OperationSummary } from '../../contracts/index.ts'
import type { Cancel } from '../../core/kernel/index.ts'

/** What clients that are there hear of operations that ended without them. */
export interface EndNews {
  /** Answers whether anybody heard it. */
  tell(operation: OperationSummary): boolean
  /** Calls back for every operation of an agent that ends. */
  follow(agent: string, listener: EndListener, canHear?: () => boolean): Cancel
  /** Somebody who follows can hear now, and could not before. */
  arrived(): void
  /** The agents that have anybody who follows, and can hear now. */
  listening(): readonly string[]
}

/** Answers whether it was heard: it may be about another operation, and a client may have no stream open. */
export type EndListener = (operation: OperationSummary) => boolean

/** @param onArrival told when there may be somebody to hear of what was told to nobody */
export function createEndNews(onArrival: () => void): EndNews {
  const followers = new Map<string, Map<EndListener, () => boolean>>()
  return {
    tell(operation) {
      // All of them hear it, whoever was first.
      const heard = [...(followers.get(operation.agent)?.keys() ?? [])].map(listener => listener(operation))
      return heard.includes(true)
    },
    arrived: onArrival,
    listening: () => [...followers].flatMap(([agent, own]) => ([...own.values()].some(can => can()) ? agent : [])),
    follow(agent, listener, canHear = ALWAYS) {
      const own = followers.get(agent) ?? new Map()
      followers.set(agent, own.set(listener, canHear))
      onArrival()
      return () => {
        own.delete(listener)
        if (own.size === 0 && followers.get(agent) === own) followers.delete(agent)
      }
    },
  }
}

const ALWAYS = () => true

/** The operations of an agent: whoever watches it hears of each that ends. */
export const OPERATIONS_URI = 'quartermaster://operations'

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
