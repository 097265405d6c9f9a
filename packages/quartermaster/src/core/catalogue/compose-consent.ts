import type { Problem } from '../../contracts/index.ts'
import type { CheckedUnit } from './check-unit.ts'
import { misfit } from './compose-problems.ts'
import type { ConsentOperationDefinition } from './consent-operation.ts'
import type { Tool } from './generation.ts'

/** What persons may have to allow, by name; the earlier of two stays. */
export function takeConsentOperations(
  units: readonly CheckedUnit[],
  problems: Problem[],
): Map<string, ConsentOperationDefinition> {
  const taken = new Map<string, ConsentOperationDefinition>()
  for (const unit of units) {
    for (const operation of unit.consentOperations) {
      const first = taken.get(operation.name)
      if (!first) taken.set(operation.name, operation)
      else if (FACTS.some(fact => first[fact] !== operation[fact])) {
        const text = `Consent operation "${operation.name}" is declared twice and differently; the earlier one stays.`
        problems.push(misfit(unit, `consent:${operation.name}`, 'consentOperations', text))
      }
    }
  }
  return taken
}

const FACTS = ['weight', 'reason', 'scope', 'grantable'] as const satisfies (keyof ConsentOperationDefinition)[]

/** Scopes that no tool has the arguments for: of every call the resource stays unknown, so that no answer can last. */
export function emptyScopes(units: readonly CheckedUnit[], tools: ReadonlyMap<string, Tool>): Problem[] {
  return units.flatMap(unit =>
    unit.consentOperations.flatMap(({ name, scope }) => {
      const users = [...tools.values()].filter(({ consent }) => consent.includes(name))
      return argumentsIn(typeof scope === 'string' ? scope : '')
        .filter(argument => users.length > 0 && users.every(tool => !mayTake(tool, argument)))
        .map(argument => emptyScope(unit, name, argument))
    }),
  )
}

/** The first name of each placeholder: what is inside of an argument schemas often do not say. */
function argumentsIn(scope: string): string[] {
  const names = [...scope.matchAll(/\{([^{}]+)\}/g)].map(([, path = '']) => path.trim().split('.')[0] ?? '')
  return [...new Set(names)]
}

/** A schema that lists no properties may take any. */
function mayTake({ inputSchema: { properties } }: Tool, argument: string): boolean {
  return typeof properties !== 'object' || properties === null || Object.hasOwn(properties, argument)
}

function emptyScope(unit: CheckedUnit, operation: string, argument: string): Problem {
  const message =
    `The scope of the consent operation "${operation}" names "${argument}", ` +
    'which no tool that asks for it takes. Each call can be allowed for itself only.'
  return { ...misfit(unit, `consent:${operation}`, 'consentOperations', message), severity: 'warning' }
}
