import type { CheckedUnit } from './check-unit.ts'
import type { CatalogueCapability, NameOwner, Origin } from './generation.ts'
import type { NameClaim } from './source.ts'

/** By kind and name: `tool:a_b`. */
export type Owners = ReadonlyMap<string, NameOwner>

/**
 * Of two upstreams the one that has had a name for longer keeps it, whichever starts first or stands first: agents that call
 * it must not reach another server from one moment to the next. Only what can be offered, or could be, has a name.
 */
export function ownersAmong(
  upstreams: readonly CheckedUnit[],
  isLeftOut: (capability: CatalogueCapability) => boolean,
): Owners {
  const owners = new Map<string, NameOwner>()
  for (const { claims, capabilities, source, unit } of upstreams) {
    const sound = new Set(capabilities.filter(one => !isLeftOut(one)).flatMap(namesIn))
    for (const claim of claims) {
      const { since, isHeld } = claim
      const key = keyOf(claim)
      const first = owners.get(key)
      if ((isHeld || sound.has(key)) && (!first || isEarlier({ since, unit }, first)))
        owners.set(key, { source, unit, since, isHeld })
    }
  }
  return owners
}

/** Two that came in the same moment go by their names: where they stand can be another place tomorrow, or in another process. */
export function isEarlier(one: Held, other: Held): boolean {
  return one.since === other.since ? one.unit < other.unit : one.since < other.since
}

type Held = Pick<NameOwner, 'since' | 'unit'>

function keyOf({ kind, name }: Pick<NameClaim, 'kind' | 'name'>): string {
  return `${kind}:${name}`
}

function namesIn({ tools, prompts }: CatalogueCapability): string[] {
  return [...tools.map(({ name }) => `tool:${name}`), ...prompts.map(({ name }) => `prompt:${name}`)]
}

/** Who else has the name, among those that come later in the order of definition. */
export function otherOwner(
  owners: Owners,
  kind: NameClaim['kind'],
  { name, unit }: Origin & { name: string },
): NameOwner | undefined {
  const owner = owners.get(keyOf({ kind, name }))
  return owner?.unit === unit ? undefined : owner
}
