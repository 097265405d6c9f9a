import type { ErrorObject } from 'ajv'

export type Path = (string | number)[]

/** Where an error is in the value: the way to it, and on to the property where one is missing or too many. */
export function pathOf(error: ErrorObject, value: unknown): Path {
  const path = decodePointer(error.instancePath, value)
  const property = PROPERTY_OF[error.keyword]?.(error.params)
  return property === undefined ? path : [...path, property]
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
