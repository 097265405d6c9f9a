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

/** Freezes a definition and marks what it is. `Symbol.for`, so that a second loaded copy of us is understood too. */
export function brand<T extends object>(kind: DefinitionKind, value: T): Readonly<T> {
  Object.defineProperty(value, BRAND, { value: kind })
  return Object.freeze(value)
}

/** A class whose objects are all of one kind: what is made in every call is marked by where it comes from, which costs nothing. */
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
