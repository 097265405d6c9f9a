import type { ErrorObject } from 'ajv'

export type Path = (string | number)[]

/** Where an error is in the value: the way to it, and on to the property where one is missing or too many. */
export function pathOf(error: ErrorObject, value: unknown): Path {
  const path = decodePointer(error.instancePath, value)
  const property = PROPERTY_OF[error.keyword]?.(error.params)
  return property === undefined ? path : [...path, property]
}

/** How messages call the thing at a path. */
export function subjectOf(path: readonly (string | number)[]): string {
  const last = path.at(-1)
  if (last === undefined) return 'The value'
  return typeof last === 'string' ? JSON.stringify(last) : `Item ${last}${ofList(path)}`
}

const PROPERTY_OF: Readonly<Record<string, ((params: Record<string, string>) => string | undefined) | undefined>> = {
  required: params => params.missingProperty,
  dependentRequired: params => params.missingProperty,
  dependencies: params => params.missingProperty,
  additionalProperties: params => params.additionalProperty,
  unevaluatedProperties: params => params.unevaluatedProperty,
}

/** A JSON pointer as keys and indices. Only the value can say which of the two a digit is. */
function decodePointer(pointer: string, value: unknown): Path {
  let at = value
  return pointer
    .split('/')
    .slice(1)
    .map(token => {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      const step = Array.isArray(at) ? Number(key) : key
      at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined
      return step
    })
}

function ofList(path: readonly (string | number)[]): string {
  const name = path.findLast(step => typeof step === 'string')
  return name === undefined ? '' : ` of ${JSON.stringify(name)}`
}
