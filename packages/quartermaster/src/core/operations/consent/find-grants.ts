import type { Caller, ConsentAsk, GrantRow } from '../../../contracts/index.ts'
import type { Store, Where } from '../../store/index.ts'
import { whoseRow } from '../record/whose.ts'

/** Whose grants, and for what. */
export interface GrantsWanted {
  readonly caller: Caller
  readonly asks: readonly Pick<ConsentAsk, 'operation' | 'scope' | 'grantable'>[]
  /** What was given for one call is looked for by the call it was given for. */
  readonly operationId: string
}

/** A call asks for a handful of things, and is asked about again a few times. */
const MOST_OF_ONE_CALL = 1_000

/**
 * Those grants that can decide about a call: of those that last, for each thing it asks for a no where there is one, else a yes;
 * and those that were given for this call. However many others there are, none hides one of these.
 */
export async function findGrants(
  store: Store,
  { caller, asks, operationId }: GrantsWanted,
  more: Where<'grants'>,
): Promise<readonly GrantRow[]> {
  const { workspace: _, ...own } = whoseRow(caller)
  const whose = { ...whoseRow(caller), ...more }
  const lasting = asks.map(({ operation, scope, grantable }) =>
    store.find('grants', {
      // Of what can be allowed for itself only, or of which nobody can tell what it is about, any no counts and no yes.
      where: {
        ...whose,
        operation,
        ...(grantable === 'once' ? { decision: 'deny' as const } : { scope }),
        lasting: { in: ['always', 'time'] },
      },
      // "deny" comes after "allow".
      order: { by: ['decision', 'id'], direction: 'descending' },
      limit: 1,
    }),
  )
  const single = store.find('grants', {
    // Not by workspace, or an index would be taken that finds those of all other calls as well.
    where: { ...own, askedFor: operationId, lasting: 'once', ...more },
    order: { by: ['createdAt', 'id'], direction: 'descending' },
    limit: MOST_OF_ONE_CALL,
  })
  return (await Promise.all([...lasting, single])).flat()
}
