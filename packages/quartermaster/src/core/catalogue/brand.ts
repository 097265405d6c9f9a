const BRAND = Symbol.for('quartermaster.definition')

type DefinitionKind =
  | 'tool'
  | 'prompt'
  | 'resource'
  | 'dependency'
  | 'effect'
  | 'capability'
  | 'injection'
  | 'module'
  | 'op'
  | 'result'
  | 'passed'

/** Freezes a definition and marks its kind. `Symbol.for` lets a second loaded copy of the package recognise it. */
export function brand<T extends object>(kind: DefinitionKind, value: T): Readonly<T> {
  Object.defineProperty(value, BRAND, { value: kind })
  return Object.freeze(value)
}

/**
 * A class whose objects all carry one kind, on the prototype: results are created in every call, so marking them must cost nothing.
 */
export function brandedClass(kind: DefinitionKind): new () => Record<string, unknown> {
  class Branded {
    [key: string]: unknown
  }
  Object.defineProperty(Branded.prototype, BRAND, { value: kind })
  return Branded
}

export function kindOf(value: unknown): DefinitionKind | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return (value as { [BRAND]?: DefinitionKind })[BRAND]
}
