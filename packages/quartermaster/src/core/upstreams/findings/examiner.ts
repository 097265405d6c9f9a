import type { UpstreamFinding } from '../../../contracts/index.ts'
import { type Clock, inTurns, type Steps } from '../../kernel/index.ts'
import type { SeenDefinition } from '../listing.ts'
import { lookInto } from './findings-in.ts'
import { compareNames, type KnownNames } from './known-names.ts'

export type { KnownNames } from './known-names.ts'

/** Looks at definitions one after the other. */
export type Examiner = (
  definitions: readonly SeenDefinition[],
  names: KnownNames,
) => Promise<ReadonlyMap<SeenDefinition, readonly UpstreamFinding[]>>

/** Thousands of definitions, or one that is made for it, take a second, and meanwhile everybody else has to have their turn. */
export function createExaminer({ clock }: { clock: Pick<Clock, 'now' | 'breathe'> }): Examiner {
  return (definitions, names) => inTurns(examineAll(definitions, names), clock)
}

function* examineAll(
  definitions: readonly SeenDefinition[],
  names: KnownNames,
): Steps<Map<SeenDefinition, readonly UpstreamFinding[]>> {
  const findings = new Map<SeenDefinition, readonly UpstreamFinding[]>()
  if (definitions.length === 0) return findings
  const compared = compareNames(names)
  for (const definition of definitions) findings.set(definition, yield* lookInto(definition.value, compared))
  return findings
}
