import type { UpstreamFinding } from '../../../../contracts/index.ts'
import { findingsIn } from '../findings-in.ts'
import type { ComparedNames } from '../known-names.ts'
import { WORDED } from '../steering-wording.ts'

/** What rules alone find, whatever a text is worded like besides. */
export function foundByRules(definition: unknown, names: ComparedNames): UpstreamFinding[] {
  return findingsIn(definition, names).filter(({ message }) => !message.startsWith(WORDED))
}
