/** What stands for a value nobody is to see. */
const MASK = '•••'

/** The names of the arguments without their values. Deeper names could be data themselves, so they are not shown. */
export function maskArguments(argumentsJson: string): Record<string, string> {
  return maskValues(JSON.parse(argumentsJson))
}

/** The same of any object. */
export function maskValues(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.keys(value).map(name => [name, MASK]))
}
