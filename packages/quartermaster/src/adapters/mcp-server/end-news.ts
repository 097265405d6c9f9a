import type { Caller, OperationSummary } from '../../contracts/index.ts'
import { type Cancel, callerKey } from '../../core/kernel/index.ts'

/** What clients that are there hear of operations that ended without them. */
export interface EndNews {
  /** Answers whether anybody heard it. */
  tell(operation: OperationSummary, caller: Caller): boolean
  /** Calls back for every operation of a caller that ends. */
  follow(caller: Caller, listener: EndListener, canHear?: () => boolean): Cancel
  /** Somebody who follows can hear now, and could not before. */
  arrived(): void
  /** The callers that have anybody who follows, and can hear now. */
  listening(): readonly Caller[]
}

/** Answers whether it was heard: it may be about another operation, and a client may have no stream open. */
export type EndListener = (operation: OperationSummary) => boolean

/** Who follows the ends of a caller's operations, each with whether it can hear now. */
interface Followers {
  readonly caller: Caller
  readonly listeners: Map<EndListener, () => boolean>
}

/** @param onArrival told when there may be somebody to hear of what was told to nobody */
export function createEndNews(onArrival: () => void): EndNews {
  const followers = new Map<string, Followers>()
  return {
    tell(operation, caller) {
      // All of them hear it, whoever was first.
      const heard = [...(followers.get(callerKey(caller))?.listeners.keys() ?? [])].map(listener => listener(operation))
      return heard.includes(true)
    },
    arrived: onArrival,
    listening: () =>
      [...followers.values()].flatMap(({ caller, listeners }) =>
        [...listeners.values()].some(can => can()) ? caller : [],
      ),
    follow(caller, listener, canHear = ALWAYS) {
      const key = callerKey(caller)
      const own = followers.get(key) ?? { caller, listeners: new Map() }
      own.listeners.set(listener, canHear)
      followers.set(key, own)
      onArrival()
      return () => {
        own.listeners.delete(listener)
        if (own.listeners.size === 0 && followers.get(key) === own) followers.delete(key)
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
