import type { ConsentOperationDefinition, ScopedCall, ScopeFunction } from '../../catalogue/index.ts'
import type { Clock } from '../../kernel/index.ts'

/**
 * The resource that a call is about, by the template of its consent operation; nothing when its arguments do not say. Two calls
 * get the same text only where all values are the same: texts that could be taken for something else are quoted.
 */
export function resourceOf(template: string, input: unknown): string | undefined {
  const isAlone = (template.match(PLACEHOLDER) ?? []).length === 1
  let isWhole = true
  const text = template.replace(PLACEHOLDER, (gap: string, path: string, at: number) => {
    const value = valueAt(input, path.trim().split('.'))
    if (value === undefined) isWhole = false
    if (typeof value === 'string') return isAlone && !isMistakable(value) ? value : quoted(value)
    return isAlone || ENDS_A_VALUE.test(template.slice(at + gap.length)) ? String(value) : `(${value})`
  })
  return isWhole ? text : undefined
}

const PLACEHOLDER = /\{([^{}]+)\}/g

/** What cannot be a part of the number, yes or no before it. */
const ENDS_A_VALUE = /^($|[^\w.+{-])/

/** Only what is one text, number, yes or no names a resource; whatever else there is could mean several. */
function valueAt(input: unknown, path: readonly string[]): string | number | boolean | undefined {
  let value: unknown = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

/** Whether a text reads like a number, like yes or no, or like one in quotes. */
function isMistakable(text: string): boolean {
  return text.startsWith("'") || text === 'true' || text === 'false' || text === String(Number(text))
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** For what an answer may be given: where the resource cannot be told, for this call alone. */
export async function scopeOf(
  { scope, grantable = 'any' }: Pick<ConsentOperationDefinition, 'scope' | 'grantable'>,
  call: ScopedCall,
  clock: Pick<Clock, 'after'>,
): Promise<{ readonly scope: string | null; readonly grantable: 'any' | 'once' }> {
  if (scope === undefined) return { scope: null, grantable }
  const resource = typeof scope === 'string' ? resourceOf(scope, call.input) : await namedBy(scope, call, clock)
  return resource === undefined ? { scope: null, grantable: 'once' } : { scope: resource, grantable }
}

/** Whoever waits for consent to something else must not wait for code that does not come back. */
const LONGEST_MS = 5_000
/** About two paths of the longest that there are. */
const LONGEST_TEXT = 8_192

/**
 * What code says. Whatever goes wrong there is no resource: the call can be allowed for itself, and nothing that was allowed
 * for a resource or for all allows it.
 */
async function namedBy(
  scope: ScopeFunction,
  call: ScopedCall,
  clock: Pick<Clock, 'after'>,
): Promise<string | undefined> {
  let cancel = () => {}
  const late = new Promise<undefined>(resolve => {
    cancel = clock.after(LONGEST_MS, () => resolve(undefined))
  })
  try {
    const named: unknown = await Promise.race([scope(call), late])
    return typeof named === 'string' && named !== '' && named.length <= LONGEST_TEXT ? named : undefined
  } catch {
    // It cannot tell, which is what it may say as well.
    return undefined
  } finally {
    cancel()
  }
}
