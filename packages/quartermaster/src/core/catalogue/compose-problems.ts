import type { Problem } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import type { Declaration } from './declaration.ts'
import type { Dependency, Origin } from './generation.ts'

/** Something about a definition that is right in itself and does not fit with the others. */
export function misfit(origin: Origin, subject: string, field: string, message: string): Problem {
  return { severity: 'error', code: 'DEFINITION_INVALID', where: origin.unit, subject, field, message }
}

export function nameTaken(kind: string, name: string, origin: Origin, first: Origin): Problem {
  const text = `The ${kind} name "${name}" is taken by ${first.unit} (${first.source}); the earlier one stays.`
  return { ...misfit(origin, `${kind}:${name}`, 'name', text), mend: `Rename one of the two.` }
}

/** Declarations make a capability together, and none may add to one that somebody has programmed. */
export function capabilityTaken({ path, capability, ...origin }: Declaration, first: Origin): Problem {
  const text = `declaration "${path}": capability "${capability}" is that of ${first.unit} (${first.source}), which stays as it is.`
  const mend = 'Say another "capability", or move the file to another folder.'
  return { ...misfit(origin, `declaration:${path}`, 'capability', text), mend }
}

/** A definition that says what it needs. */
interface Needing extends Origin {
  readonly requires: readonly string[]
}

/** What it requires and nothing defines. */
export function missingRequires(
  item: Needing,
  { kind, name }: { kind: string; name: string },
  dependencies: ReadonlyMap<string, Dependency>,
): Problem[] {
  const title = kind.charAt(0).toUpperCase() + kind.slice(1)
  return item.requires
    .filter(one => !dependencies.has(one))
    .map(one => {
      const hint = didYouMean(one, dependencies.keys())
      const text = `${title} "${name}" requires "${one}", which nothing defines.${hint}`
      return misfit(item, `${kind}:${name}`, 'requires', text)
    })
}

/** What it asks persons for and nothing declares. */
export function missingConsent(
  item: Origin & { readonly consent: readonly string[] },
  name: string,
  operations: ReadonlyMap<string, unknown>,
): Problem[] {
  return item.consent
    .filter(one => !operations.has(one))
    .map(one => {
      const hint = didYouMean(one, operations.keys())
      const text = `Tool "${name}" asks for "${one}", which no capability declares.${hint}`
      return misfit(item, `tool:${name}`, 'consent', text)
    })
}
