import type { NodeFacts, NodeRow } from '../contracts/index.ts'
import type { OpenedStore } from './open-store.ts'

/** The processes that share a store, the one that has run for longest first; nothing where none can. */
export async function nodeFacts({ shared }: Pick<OpenedStore, 'shared'>): Promise<NodeFacts[] | undefined> {
  if (!shared) return undefined
  return (await shared.nodes.running()).map(row => factsOf(row, shared.nodes.id))
}

function factsOf({ id, host, version, startedAt, url }: NodeRow, own: string): NodeFacts {
  return { id, host, version, startedAt, ...(url === null ? {} : { url }), isThis: id === own }
}
