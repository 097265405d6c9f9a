import type { Finding } from '../contracts/index.ts'
import type { Generation } from '../core/catalogue/index.ts'
import { withoutHidden } from '../core/kernel/index.ts'

/** What is to be said of consent operations whose reason a person would not read as it is written. */
export function consentFindings({ consentOperations }: Pick<Generation, 'consentOperations'>): Finding[] {
  return [...consentOperations.values()]
    .filter(({ reason }) => withoutHidden(reason) !== reason)
    .map(({ name, reason }) => ({
      level: 'warning',
      what: `The reason of the consent operation "${name}" has characters that cannot be seen: ${withoutHidden(JSON.stringify(reason))}`,
      fix: 'Take them out: a person decides by this text.',
    }))
}
