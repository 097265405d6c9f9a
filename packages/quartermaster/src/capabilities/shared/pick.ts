/** What a pointer finds in a value (RFC 6901); a `*` stands for every item of a list, and gives a list of what is found. */
export function pick(value: unknown, pointer: string): unknown {
  return walk(value, pointer.split('/').slice(1).map(decoded))
}

function walk(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value
  if (Array.isArray(value)) {
    if (step === '*') return value.map(item => walk(item, rest)).filter(item => item !== undefined)
    return /^(?:0|[1-9]\d*)$/.test(step) ? walk(value[Number(step)], rest) : undefined
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
  return walk((value as Record<string, unknown>)[step], rest)
}

function decoded(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
