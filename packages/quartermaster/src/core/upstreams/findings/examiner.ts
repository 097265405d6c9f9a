import type { UpstreamFinding } from '../../../contracts/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { SeenDefinition } from '../listing.ts'
import { lookInto } from './findings-in.ts'
import { compareNames, type KnownNames } from './other-tools.ts'

export type { KnownNames } from './other-tools.ts'

/** Looks at definitions one after the other. */
export type Examiner = (
  definitions: readonly SeenDefinition[],
  names: KnownNames,
) => Promise<ReadonlyMap<SeenDefinition, readonly UpstreamFinding[]>>

/** How long others may have to wait. */
const TURN_MS = 5

/** Thousands of definitions, or one that is made for it, take a second, and meanwhile everybody else has to have their turn. */
export function createExaminer({ clock }: { clock: Pick<Clock, 'now' | 'breathe'> }): Examiner {
  return async (definitions, names) => {
    const findings = new Map<SeenDefinition, readonly UpstreamFinding[]>()
    const compared = compareNames(names)
    let turnEnds = clock.now() + TURN_MS
    for (const definition of definitions) {
      const looking = lookInto(definition.value, compared)
      let step = looking.next()
      for (; !step.done; step = looking.next()) {
        if (clock.now() < turnEnds) continue
        await clock.breathe()
        turnEnds = clock.now() + TURN_MS
      }
      findings.set(definition, step.value)
    }
    return findings
  }
}
