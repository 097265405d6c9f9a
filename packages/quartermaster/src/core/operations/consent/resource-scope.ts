import type { ConsentOperation } from '../../../contracts/index.ts'

/** The resource that a call is about, by the template of its consent operation; nothing when its arguments do not say. */
export function resourceOf(template: string, input: unknown): string | undefined {
  let isWhole = true
  const text = template.replace(PLACEHOLDER, (_, path: string) => {
    const value = valueAt(input, path.trim().split('.'))
    if (value === undefined) isWhole = false
    return value ?? ''
  })
  return isWhole ? text : undefined
}

const PLACEHOLDER = /\{([^{}]+)\}/g

/** Only what is one text, number, yes or no names a resource; whatever else there is could mean several. */
function valueAt(input: unknown, path: readonly string[]): string | undefined {
  let value: unknown = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** For what an answer may be given: where the resource cannot be told, for this call alone. */
export function scopeOf(
  { scope, grantable = 'any' }: Pick<ConsentOperation, 'scope' | 'grantable'>,
  input: unknown,
): { readonly scope: string | null; readonly grantable: 'any' | 'once' } {
  if (scope === undefined) return { scope: null, grantable }
  const resource = resourceOf(scope, input)
  return resource === undefined ? { scope: null, grantable: 'once' } : { scope: resource, grantable }
}
